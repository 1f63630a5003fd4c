#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/columns.h"
#include "base/source.h"
#include "base/table_codec.h"
#include "format/materialized/manifest.h"
#include "format/materialized/mapped_shards.h"
#include "store/store.h"

namespace forebay {

/// The index of a shard, in memory.
struct ShardIndex {
  std::string key;  ///< key of the shard in its store
  uint64_t bytes = 0;
  Columns columns;
};

/// Samples that were materialized one by one. Their ids and version are those of the original. Any
/// thread may use it.
///
/// A sample's range is fetched and compared with its checksum. If all ranges have one length and
/// consist of one unencoded field, and the shards could be mapped, nothing is fetched. Rows are
/// then copied from the mapping into their batches, many per call, and checked there.
class MaterializedSamples final : public SampleSource {
 public:
  /// `indices` has one entry per shard, as sample_shard.h describes them. Corrupt if something is
  /// missing. `local` is true if keys are paths on this host.
  static Result<std::shared_ptr<const Source>> make(std::shared_ptr<Store> store, MaterializedManifest manifest,
                                                    std::vector<ShardIndex> indices, bool local = false);

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return begins_.back(); }
  Hash128 version() const override { return manifest_.data_version(); }
  uint64_t index_bytes() const override;
  std::string key(int64_t id) const override;
  std::optional<Identity> identity(int64_t id) const override;
  const std::string& steps_before() const override { return steps_before_; }
  Fetch fetch(int64_t id) const override;
  Status load(int64_t id, Buffer fetched, Record& record) const override;
  bool gathers(size_t field) const override;
  Status gather(size_t field, std::span<const int64_t> ids, uint8_t* out) const override;

 private:
  /// The columns of a field in an index.
  struct FieldColumns {
    size_t column = 0;                          ///< for a field in the index
    std::optional<size_t> shape, begin, bytes;  ///< for a field in the range
  };
  struct Row {
    const ShardIndex& index;
    const StoredShard& shard;
    size_t row;
    size_t shard_index;
  };

  MaterializedSamples(std::shared_ptr<Store> store, MaterializedManifest manifest, std::vector<ShardIndex> indices);
  Status find_columns();
  Status find_columns_of(size_t shard);
  Result<FieldColumns> field_columns(const Columns& columns, const StoredField& stored) const;
  Status check_ranges(const ShardIndex& index) const;
  std::optional<size_t> field_that_fills_the_range() const;
  bool has_ranges_of(uint64_t bytes) const;
  void map_shards();
  Status copy_range(int64_t id, const Row& row, std::span<uint8_t> out) const;
  Row row_of(int64_t id) const;
  Status load_from_range(size_t field, const Row& row, const Buffer& range, Value* value) const;
  /// Sets the extents that differ from sample to sample. Returns the number of elements.
  Result<uint64_t> read_shape(size_t field, const Row& row, Shape& shape) const;
  Status damaged(int64_t id, const std::string& what) const;

  const std::shared_ptr<Store> store_;
  const MaterializedManifest manifest_;
  const std::string steps_before_;
  const std::vector<ShardIndex> indices_;
  std::vector<int64_t> begins_;
  std::vector<FieldColumns> field_columns_;  ///< by field
  size_t range_begin_ = 0, range_bytes_ = 0, range_hash_ = 0;
  bool has_range_ = false;
  std::unique_ptr<const MappedShards> mapped_;  // null if samples are fetched
  size_t mapped_field_ = 0;
  Schema schema_;
};

}  // namespace forebay
