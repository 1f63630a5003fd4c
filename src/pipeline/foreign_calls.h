#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "pipeline/execution_plan.h"
#include "pipeline/foreign.h"
#include "pipeline/row_work.h"

namespace forebay {

/// A call that can be let go of unanswered.
class PendingCall : public ForeignCall {
 public:
  /// Nobody waits for it any more: it must not answer when it dies.
  virtual void forget() = 0;
};

/// Calls of user code that nobody has taken yet, the oldest samples first. May be used from any thread.
class ForeignCalls {
 public:
  /// `order` says which goes first, and which one forget() means. After close() it is let go of.
  void put(uint64_t order, std::shared_ptr<PendingCall> call);
  /// Waits for one. Null on time-out and after close().
  std::shared_ptr<ForeignCall> take(std::chrono::milliseconds timeout);
  /// That one, if it is still here.
  void forget(uint64_t order);
  void forget_all();
  /// Wakes whoever waits, for good.
  void close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, std::shared_ptr<PendingCall>> calls_;
  bool closed_ = false;
};

/// What goes into user code: the stage's fields of the record, and what earlier user code made and nobody has named since, where the
/// stage takes all.
struct ForeignInput {
  Schema schema;
  Record record;
};
ForeignInput foreign_input(const ForeignStage& stage, RowInput& row);

/// What came out becomes the row's record, in the order that the next operators expect. Unsupported where a field is missing,
/// InvalidArgument where there would be two of a name.
Status accept_answer(const ForeignStage& stage, const Schema& schema, Record answer, RowInput& row);

}  // namespace forebay
