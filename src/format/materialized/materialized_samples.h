#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/columns.h"
#include "base/source.h"
#include "base/table_codec.h"
#include "format/materialized/manifest.h"
#include "store/store.h"

namespace forebay {

/// The index of a shard, in memory.
struct ShardIndex {
  std::string key;  ///< of the shard, in its store
  uint64_t bytes = 0;
  Columns columns;
};

/// Samples that were materialised one by one: their ids, and the version, are those of the original.
class MaterializedSamples final : public Source {
 public:
  /// `indices`: one a shard, as sample_shard.h describes them. Corrupt where they lack something.
  static Result<std::shared_ptr<const Source>> make(std::shared_ptr<Store> store, MaterializedManifest manifest,
                                                    std::vector<ShardIndex> indices);

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return begins_.back(); }
  Hash128 version() const override { return manifest_.data_version(); }
  uint64_t index_bytes() const override;
  std::string key(int64_t id) const override;
  std::optional<Identity> identity(int64_t id) const override;
  const std::string& steps_before() const override { return steps_before_; }
  Fetch fetch(int64_t id) const override;
  Status load(int64_t id, Buffer fetched, Record& record) const override;

 private:
  /// Where a field's columns are in an index.
  struct Place {
    size_t column = 0;                          ///< of one in the index
    std::optional<size_t> shape, begin, bytes;  ///< of one in the range
  };
  struct Row {
    const ShardIndex& index;
    const StoredShard& shard;
    size_t row;
  };

  MaterializedSamples(std::shared_ptr<Store> store, MaterializedManifest manifest, std::vector<ShardIndex> indices);
  Status find_columns();
  Status check_ranges(const ShardIndex& index) const;
  Row row_of(int64_t id) const;
  Status load_from_range(size_t field, const Row& row, const Buffer& range, Value* value) const;
  Status damaged(int64_t id, const std::string& what) const;

  const std::shared_ptr<Store> store_;
  const MaterializedManifest manifest_;
  const std::string steps_before_;
  const std::vector<ShardIndex> indices_;
  std::vector<int64_t> begins_;
  std::vector<Place> places_;
  size_t range_begin_ = 0, range_bytes_ = 0, range_hash_ = 0;
  bool has_range_ = false;
  Schema schema_;
};

}  // namespace forebay
