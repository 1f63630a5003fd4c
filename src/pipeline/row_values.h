#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/record.h"
#include "pipeline/collate.h"
#include "pipeline/execution_plan.h"
#include "pipeline/keyed_stage.h"

namespace forebay {

/// The rows of a batch's fields of unknown shape, until the batch is assembled: values, or
/// references to rows of chunks, and the extra fields that user code returned. It is part of a
/// BatchJob and guarded like it: a row belongs to the compute thread that works on it.
class RowValues {
 public:
  RowValues(const ExecutionPlan& plan, size_t rows);

  /// The outputs whose shape is not known, or may differ from the plan's.
  const std::vector<size_t>& outputs() const { return outputs_; }
  /// Whether the batch has such outputs or extra fields.
  bool has_fields() const { return !outputs_.empty() || !extras_.empty(); }
  /// Whether they are stored as one Value per row, and not as references to chunks.
  bool stores_values() const { return !extras_.empty() || (!outputs_.empty() && !values_[outputs_.front()].empty()); }

  void store(size_t output, int64_t row, Value value) { values_[output][static_cast<size_t>(row)] = std::move(value); }
  void store_extras(int64_t row, Extras extras) { extras_[static_cast<size_t>(row)] = std::move(extras); }
  void set_reference(size_t output, int64_t row, RowBytes bytes) {
    references_[output][static_cast<size_t>(row)] = bytes;
  }
  RowBytes reference(size_t output, int64_t row) const { return references_[output][static_cast<size_t>(row)]; }

  /// The values of an output by row. Empty if its shape is known or it has references.
  const std::vector<Value>& values(size_t output) const { return values_[output]; }
  /// The references of an output by row. Empty if its shape is known or it has values.
  const std::vector<RowBytes>& references(size_t output) const { return references_[output]; }
  /// The extra fields by row. Empty if the plan knows all fields.
  const std::vector<Extras>& extras() const { return extras_; }

  /// Bytes of the values that are stored for this row.
  uint64_t bytes(int64_t row) const;
  /// Drops what is stored for this row.
  void drop(int64_t row);
  void drop_all();

 private:
  std::vector<size_t> outputs_;                    // those that have values_ or references_
  std::vector<std::vector<Value>> values_;         // per output and row
  std::vector<std::vector<RowBytes>> references_;  // per output and row
  std::vector<Extras> extras_;                     // per row
};

}  // namespace forebay
