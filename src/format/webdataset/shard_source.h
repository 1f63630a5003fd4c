#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/unit_source.h"
#include "format/webdataset/shard_units.h"

namespace forebay {

/// Samples of tar shards. A unit is some of one shard that follow each other; its bytes are one read. Ids count the samples of all
/// shards. Several share one ShardUnits.
class ShardSource final : public UnitSource {
 public:
  /// All fields.
  explicit ShardSource(std::shared_ptr<const ShardUnits> units);
  /// `fields`: indices into ShardUnits::fields; `columns`: which columns of schema_of() these, in which order.
  ShardSource(std::shared_ptr<const ShardUnits> units, std::vector<size_t> fields, std::vector<size_t> columns);

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return units_->samples; }
  Hash128 version() const override { return units_->version; }
  uint64_t index_bytes() const override { return units_->index_bytes(); }
  /// "train/000.tar sample 17".
  std::string key(int64_t id) const override;

  int64_t units() const override { return static_cast<int64_t>(units_->units.size()); }
  int64_t unit_begin(int64_t unit) const override { return units_->first_id(static_cast<size_t>(unit)); }
  std::string unit_name(int64_t unit) const override { return units_->unit_name(static_cast<size_t>(unit)); }
  UnitCost unit_cost(int64_t unit) const override;
  UnitFetch unit_fetch(int64_t unit) const override;
  Result<Columns> decode(int64_t unit, std::vector<Buffer> fetched, WorkMemory& memory) const override;
  std::optional<Hash128> unit_identity(int64_t unit) const override;
  Result<std::shared_ptr<const UnitSource>> with_fields(std::span<const std::string> names) const override;

 private:
  const ShardUnits::Unit& unit_at(int64_t unit) const { return units_->units[static_cast<size_t>(unit)]; }

  const std::shared_ptr<const ShardUnits> units_;
  const std::vector<size_t> fields_, columns_;
  Schema schema_;
};

}  // namespace forebay
