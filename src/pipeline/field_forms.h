#pragma once

#include <map>
#include <set>
#include <string>

#include "forebay/batch.h"
#include "forebay/status.h"
#include "pipeline/execution_plan.h"

namespace forebay {

/// Keeps the form of fields that user code makes the same in all batches of a run. The plan knows
/// nothing of these fields, so the first batch with rows decides:
/// - If all its rows have one length, the field is an array, and all rows of the run must have that
///   length. Arrays of more axes may have another length in each batch.
/// - If rows differ in their first axis, the field is (values, offsets) in every batch, even if the
///   lengths agree.
/// - If rows are lists of strings, rows without elements are such lists, too.
/// Batches of .batch(1) are arrays of any length.
///
/// The window calls it for each delivered batch, in order and from one thread at a time.
class FieldForms {
 public:
  /// `ragged`: fields that are (values, offsets) from the first batch on.
  FieldForms(const ExecutionPlan& plan, int64_t batch_size, std::set<std::string> ragged);

  /// Converts the batch's fields to their form. InvalidArgument if a field would have to change its
  /// form.
  Status unify(Batch& batch);

 private:
  struct Form {
    BatchField::Kind kind = BatchField::Kind::kDense;
    DType dtype = DType::kUint8;
    Shape row;  ///< kDense: shape of a row; kRagged: the same without the first axis
  };
  bool is_made_by_user_code(const std::string& name) const { return !plan_decided_.contains(name); }
  /// Whether the field of the batch is an array whose rows may have one length by chance.
  bool is_array(const BatchField& field) const;
  /// `form` is null if no batch has had the field yet.
  bool must_be_ragged(const std::string& name, const Form* form) const;
  Status unify_rows(BatchField& field, int64_t rows);
  static Status check_ragged(const BatchField& field, const Form& form);
  static Status check_array(const BatchField& field, const Form& form);
  void add_empty(Batch& batch) const;

  const int64_t batch_size_;
  // Names of fields:
  std::set<std::string> ragged_;        // ragged from the first batch on
  std::set<std::string> plan_decided_;  // the plan decides their form
  std::set<std::string> padded_;
  std::map<std::string, Form> forms_;  // of fields of user code, once a batch has had them
};

}  // namespace forebay
