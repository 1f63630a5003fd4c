#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/chunk_source.h"
#include "base/source.h"

namespace forebay {

/// All rows of a ChunkSource in memory, so that any of them can be had at any time.
class HeldRows final : public SampleSource {
 public:
  /// Reads and decodes all chunks. OutOfBudget if they may take more than `most_bytes`. Waits.
  static Result<std::shared_ptr<const HeldRows>> read(std::shared_ptr<const ChunkSource> source, uint64_t most_bytes,
                                                      const std::stop_token& stop);

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return source_->size(); }
  Hash128 version() const override { return source_->version(); }
  uint64_t index_bytes() const override;
  std::string key(int64_t id) const override { return source_->key(id); }
  std::optional<Identity> identity(int64_t id) const override { return source_->identity(id); }
  Fetch fetch(int64_t) const override { return {}; }
  Status load(int64_t id, Buffer fetched, Record& record) const override;
  bool gathers(size_t field) const override { return schema_[field].fixed_shape() && !has_bad_rows_; }
  Status gather(size_t field, std::span<const int64_t> ids, uint8_t* out) const override;

 private:
  HeldRows(std::shared_ptr<const ChunkSource> source, std::vector<Columns> chunks);
  struct Place {
    size_t chunk = 0;
    int64_t row = 0;
  };
  Place find(int64_t id) const;

  const std::shared_ptr<const ChunkSource> source_;
  const std::vector<Columns> chunks_;
  std::vector<int64_t> begins_;  // id of the first row of each chunk
  bool has_bad_rows_ = false;
  Schema schema_;  // of the source; nothing has to be fetched
};

}  // namespace forebay
