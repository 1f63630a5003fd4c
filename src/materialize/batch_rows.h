#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/buffer_allocator.h"
#include "base/columns.h"
#include "base/record.h"
#include "forebay/batch.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// Converts a field of a batch into one of a schema. Axes whose size may differ have an unknown
/// size.
Field field_of(const BatchField& field);
/// Copies rows of batches into records with memory of their own, so that the loader can reuse its
/// batch. As long as the values of a field have the size of the first one, they lie end to end, and
/// so already form a column.
class RowCopier {
 public:
  /// `rows` is the expected number of rows.
  RowCopier(const std::vector<StoredField>& fields, int64_t rows, BufferAllocator memory = {})
      : fields_(fields), rows_(rows), memory_(std::move(memory)), blocks_(fields.size()) {}

  /// InvalidArgument if the batch lacks a field.
  Result<Record> copy(const Batch& batch, int64_t row);

 private:
  struct Block {
    Buffer memory;
    size_t used = 0;
    int64_t rows = 0;
  };
  Result<Buffer> copy_to(Block& block, std::span<const uint8_t> bytes) const;

  const std::vector<StoredField>& fields_;
  const int64_t rows_;
  const BufferAllocator memory_;
  std::vector<Block> blocks_;
};

/// Adds a column `id`, with ids from `first_id` on, to columns that were written without it.
Columns with_ids(Columns columns, const std::vector<StoredField>& fields, int64_t first_id);

/// Collects rows of batches, and joins them into columns. Not thread-safe.
class RowJoiner {
 public:
  explicit RowJoiner(const std::vector<StoredField>& fields) : fields_(fields), columns_(fields.size()) {}

  /// Adds rows [begin, end). InvalidArgument if the batch lacks a field, or if a field has another
  /// type or shape than in the other samples.
  Status add(const Batch& batch, int64_t begin, int64_t end);
  int64_t rows() const { return rows_; }
  /// Returns the columns, with a column `id` first. The joiner is empty afterwards.
  Columns take(int64_t first_id);

 private:
  struct GrowingColumn {
    std::vector<uint8_t> values;
    std::vector<int64_t> offsets{0};
  };
  Status add_field(const BatchField& from, const Field& field, int64_t begin, int64_t end, GrowingColumn& to);

  const std::vector<StoredField>& fields_;
  std::vector<GrowingColumn> columns_;
  int64_t rows_ = 0;
};

}  // namespace forebay
