#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/source.h"
#include "format/column.h"
#include "format/files/key_table.h"

namespace forebay {

/// Any number of objects of a store in each sample. The fields are `bytes`, a list, `key`, and the
/// columns of the index. Any thread may use it.
class ObjectLists final : public SampleSource {
 public:
  /// `objects`: those of all samples, one after the other, without columns. `ends`: where those of
  /// each sample end. `keys`: the key of each sample.
  ObjectLists(std::unique_ptr<const SampleSource> objects, PackedInts ends, Column keys, std::vector<Column> columns);

  /// The number of objects in the list of a sample.
  int64_t count(int64_t id) const { return end(id) - begin(id); }

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return static_cast<int64_t>(ends_.size()); }
  Hash128 version() const override { return version_; }
  uint64_t index_bytes() const override;
  std::string key(int64_t id) const override;
  std::string lasting_key(int64_t id) const override;
  std::optional<Identity> identity(int64_t id) const override;
  Fetch fetch(int64_t id) const override;
  Status load(int64_t id, Buffer fetched, Record& record) const override;
  Status load_all(int64_t id, std::span<const Buffer> fetched, Record& record) const override;
  bool gathers(size_t field) const override {
    return field >= kFirstColumn && columns_[field - kFirstColumn].gathers();
  }
  Status gather(size_t field, std::span<const int64_t> ids, uint8_t* out) const override;

 private:
  static constexpr size_t kFirstColumn = 2;
  int64_t begin(int64_t id) const { return id == 0 ? 0 : end(id - 1); }
  int64_t end(int64_t id) const { return static_cast<int64_t>(ends_[static_cast<size_t>(id)]); }
  Result<Buffer> list_of(int64_t id, std::span<const Buffer> fetched) const;

  const std::unique_ptr<const SampleSource> objects_;
  const PackedInts ends_;
  const Column keys_;
  const std::vector<Column> columns_;
  Schema schema_;
  Hash128 version_;
};

}  // namespace forebay
