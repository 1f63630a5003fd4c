#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pipeline/field_forms.h"
#include "pipeline/foreign.h"
#include "pipeline/run/run_core.h"
#include "pipeline/run/window_batch.h"

namespace forebay {

/// Takes batches from the end of their assembly to where they can be delivered: gives fields of
/// user code their form, and calls the functions on whole batches (ExecutionPlan::batch_stages()).
/// Calls begin in the order of the batches, several may run at once, and answers come in any order.
/// The window owns it; the run's lock guards it.
class BatchCalls {
 public:
  BatchCalls(RunCore& core, const WindowBatches& batches);

  /// Moves on all batches that are assembled. Stops at the first one that is not: the first batch
  /// of a run decides the form of fields for those after it.
  void advance();
  /// Completes the batch with an error, which is delivered in its place. An error of the data or of
  /// a function passes the batch; after any other the batch can be asked for again.
  void fail(WindowBatch& batch, Status status) const;

 private:
  class Call;
  class RowCall;
  struct RowCalls;

  void call_next(const WindowBatchPtr& batch);
  void call_rows(const WindowBatchPtr& batch, const BatchStage& stage);
  void on_answer(const WindowBatchPtr& of, uint64_t ticket, Status status,
                 const std::function<void(WindowBatch&)>& accept);
  void accept_fields(WindowBatch& batch, std::vector<BatchField> fields, int64_t rows) const;
  void complete(WindowBatch& batch) const;

  RunCore& core_;
  const WindowBatches& batches_;
  FieldForms forms_;
  uint64_t last_ticket_ = 0;
};

}  // namespace forebay
