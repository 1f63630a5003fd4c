#pragma once

#include <map>
#include <set>
#include <string>

#include "forebay/batch.h"
#include "forebay/status.h"
#include "pipeline/execution_plan.h"

namespace forebay {

/// What the fields that user code makes look like in the batches of one run, where nothing is known of them before. The first
/// batch that has rows decides: rows that are all of one length make an array, and then all of the run have that
/// length (of more than one axis: all of a batch); others, of which the first axis alone may differ, make (values, offsets) in every batch, also where their lengths happen to agree. Where rows are lists of strings, rows
/// without any are such lists, too. Batches of a single row by
/// .batch(1) are arrays always, of any length.
///
/// Used by one thread at a time, on batches in their order.
class FieldForms {
 public:
  /// `ragged`: fields that are so from the first batch on.
  FieldForms(const ExecutionPlan& plan, int64_t batch_size, std::set<std::string> ragged);

  /// Gives the batch's fields their form. InvalidArgument where a field would have to change it.
  Status settle(Batch& batch);

 private:
  struct Form {
    BatchField::Kind kind = BatchField::Kind::kDense;
    DType dtype = DType::kUint8;
    Shape row;
  };
  bool by_user(const std::string& name) const { return !known_.contains(name); }
  Status settle_rows(BatchField& field, int64_t rows);
  void add_empty(Batch& batch) const;

  const int64_t batch_size_;
  std::set<std::string> ragged_, known_, padded_;
  std::map<std::string, Form> forms_;
};

}  // namespace forebay
