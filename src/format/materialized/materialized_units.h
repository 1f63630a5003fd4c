#pragma once

#include <memory>
#include <string>

#include "base/unit_source.h"
#include "format/materialized/manifest.h"
#include "format/materialized/unit_hashes.h"

namespace forebay {

/// A table that was materialised unit by unit: Arrow files, under the version of the original.
class MaterializedUnits final : public UnitSource {
 public:
  /// `table`: the shards' rows, of as many units as there are `hashes` of.
  MaterializedUnits(std::shared_ptr<const UnitSource> table, std::shared_ptr<const MaterializedManifest> manifest,
                    std::shared_ptr<const UnitHashes> hashes);

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return table_->size(); }
  Hash128 version() const override { return manifest_->data_version(); }
  uint64_t index_bytes() const override { return table_->index_bytes() + hashes_->bytes(); }
  std::string key(int64_t id) const override { return table_->key(id); }
  const std::string& steps_before() const override { return steps_before_; }
  int64_t units() const override { return table_->units(); }
  int64_t unit_begin(int64_t unit) const override { return table_->unit_begin(unit); }
  std::string unit_name(int64_t unit) const override { return table_->unit_name(unit); }
  UnitCost unit_cost(int64_t unit) const override { return table_->unit_cost(unit); }
  UnitFetch unit_fetch(int64_t unit) const override { return table_->unit_fetch(unit); }
  Result<Columns> decode(int64_t unit, std::vector<Buffer> fetched, WorkMemory& memory) const override;
  std::optional<Hash128> unit_identity(int64_t unit) const override { return table_->unit_identity(unit); }
  Result<std::shared_ptr<const UnitSource>> with_fields(std::span<const std::string> names) const override;

 private:
  const std::shared_ptr<const UnitSource> table_;
  const std::shared_ptr<const MaterializedManifest> manifest_;
  const std::shared_ptr<const UnitHashes> hashes_;
  const std::string steps_before_;
  Schema schema_;
};

}  // namespace forebay
