#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>

#include "base/cond_var.h"
#include "base/mutex.h"
#include "pipeline/branch_plan.h"
#include "pipeline/foreign.h"
#include "pipeline/row_work.h"

namespace forebay {

/// Queue of calls of user code, the oldest samples and batches first. The run puts calls in with
/// its lock held, and threads of user code take them out. May be used from any thread.
class ForeignCalls {
 public:
  /// Adds a call. The call with the smallest `order` is taken first; `order` also identifies it for
  /// abandon(). After close() the call is abandoned.
  void put(uint64_t order, std::shared_ptr<ForeignCall> call);
  /// Waits for a call and removes it. Null on time-out and after close().
  std::shared_ptr<ForeignCall> take(std::chrono::milliseconds timeout);
  /// Abandons that call, if nobody has taken it yet.
  void abandon(uint64_t order);
  void abandon_all();
  /// Wakes all waiting threads. take() returns null from now on.
  void close();

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<uint64_t, std::shared_ptr<ForeignCall>> calls_ FOREBAY_GUARDED_BY(mutex_);
  bool closed_ FOREBAY_GUARDED_BY(mutex_) = false;
};

/// The input of a call of user code: the stage's fields of the record, and the extra fields of
/// earlier user code if the stage takes all.
struct ForeignInput {
  Schema schema;
  Record record;
};
ForeignInput foreign_input(const ForeignStage& stage, RowInput& row);

/// Makes the answer of user code the row's record, in the order that the next operators expect.
/// Unsupported if a field is missing, InvalidArgument if two fields would have one name.
Status accept_answer(const ForeignStage& stage, const Schema& schema, Record answer, RowInput& row);

}  // namespace forebay
