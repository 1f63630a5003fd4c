#pragma once

#include <vector>

#include "base/columns.h"
#include "base/record.h"
#include "base/take_memory.h"
#include "forebay/batch.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// A field of a batch as one of a schema: with the shapes that all batches have.
Field field_of(const BatchField& field);
/// Row `row`, with memory of its own: what a loader gave goes back to it. InvalidArgument where the batch lacks a field.
Result<Record> record_of(const Batch& batch, int64_t row, const std::vector<StoredField>& fields,
                         const TakeMemory& memory = {});

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
