#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/columns.h"
#include "base/record.h"
#include "base/take_memory.h"
#include "forebay/batch.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// A field of a batch as one of a schema: with the shapes that all batches have.
Field field_of(const BatchField& field);
/// Rows of batches as records, with memory of their own: what a loader gave goes back to it. Those of a field lie end to end as long as they have the size of the
/// first one, so that a column of them is there already.
class RowCopies {
 public:
  /// Of about `rows` rows.
  RowCopies(const std::vector<StoredField>& fields, int64_t rows, TakeMemory memory = {})
      : fields_(fields), rows_(rows), memory_(std::move(memory)), blocks_(fields.size()) {}

  /// InvalidArgument where the batch lacks a field.
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
  const TakeMemory memory_;
  std::vector<Block> blocks_;
};

/// Columns that were written so, whose ids begin with another number now.
Columns with_ids(Columns columns, const std::vector<StoredField>& fields, int64_t first_id);

/// Rows of batches, put together again.
class RowsTogether {
 public:
  explicit RowsTogether(const std::vector<StoredField>& fields) : fields_(fields), columns_(fields.size()) {}

  /// Rows [begin, end). InvalidArgument where the batch lacks a field; Unsupported where a column cannot hold one.
  Status add(const Batch& batch, int64_t begin, int64_t end);
  int64_t rows() const { return rows_; }
  /// With a column `id` before the others.
  Columns take(int64_t first_id);

 private:
  struct Growing {
    std::vector<uint8_t> values;
    std::vector<int64_t> offsets{0};
  };
  Status add_field(const BatchField& from, const Field& field, int64_t begin, int64_t end, Growing& to);

  const std::vector<StoredField>& fields_;
  std::vector<Growing> columns_;
  int64_t rows_ = 0;
};

}  // namespace forebay
