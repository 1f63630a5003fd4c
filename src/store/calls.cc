#include "store/calls.h"

#include <vector>

#include "forebay/stats/store.h"

namespace forebay {

namespace {
thread_local void* innermost_frame = nullptr;
}  // namespace

CallTable::AnswerFrame::AnswerFrame(const CallTable* t) : table(t), outer(static_cast<AnswerFrame*>(innermost_frame)) {
  innermost_frame = this;
}
CallTable::AnswerFrame::~AnswerFrame() { innermost_frame = outer; }

bool CallTable::enter(std::shared_ptr<CallBase> call) {
  auto& counter = call->kind_ == CallKind::kListing ? listings_ : call->kind_ == CallKind::kHead ? heads_ : waited_;
  counter.fetch_add(1, std::memory_order_relaxed);
  in_flight_.fetch_add(1, std::memory_order_relaxed);
  const Lock lock(mutex_);
  CallBase& entered = *call;
  entered.position_ = calls_.insert(calls_.end(), std::move(call));
  return !closed_;
}

void CallTable::count(const CallBase& call, std::optional<uint64_t> bytes, bool ok) {
  // Measured from begin(), because the caller has waited for a thread or a connection, too.
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - call.begin_;
  latencies_.add(static_cast<uint64_t>(took.count()));
  if (bytes) sizes_.add(*bytes);
  if (!ok) errors_.fetch_add(1, std::memory_order_relaxed);
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
}

void CallTable::leave(CallBase& call) {
  const Lock lock(mutex_);
  // The caller holds another reference, so nothing is destroyed under the lock.
  calls_.erase(call.position_);
  if (closed_) left_.notify_all();
}

void CallTable::close() {
  std::vector<std::shared_ptr<CallBase>> waiting;
  {
    const Lock lock(mutex_);
    closed_ = true;
    waiting.assign(calls_.begin(), calls_.end());
  }
  // Cancelled without the lock, because an answer may begin another call here. That call enters,
  // finds the table closed and is cancelled at once.
  for (const auto& call : waiting) call->cancel("the store was closed");
  waiting.clear();

  size_t own = 0;
  for (auto* frame = static_cast<AnswerFrame*>(innermost_frame); frame != nullptr; frame = frame->outer) {
    own += frame->table == this ? 1 : 0;
  }
  Lock lock(mutex_);
  // A call leaves after its answer has returned; answers that this thread is inside of cannot
  // return before this function. The wait ends, because each call in the table was cancelled above
  // or is being answered, and later ones are answered in begin().
  left_.wait(lock, [&]() FOREBAY_REQUIRES(mutex_) { return calls_.size() <= own; });
}

void CallTable::count_immediate(uint64_t bytes, bool ok) {
  immediate_.fetch_add(1, std::memory_order_relaxed);
  if (ok) sizes_.add(bytes);
  if (!ok) errors_.fetch_add(1, std::memory_order_relaxed);
}

StoreStats CallTable::stats() const {
  StoreStats stats;
  stats.immediate = immediate_.load(std::memory_order_relaxed);
  stats.listings = listings_.load(std::memory_order_relaxed);
  stats.heads = heads_.load(std::memory_order_relaxed);
  stats.waited = waited_.load(std::memory_order_relaxed);
  // Summed from counters that only grow: a difference of counters read at different moments could
  // shrink.
  stats.requests = stats.immediate + stats.listings + stats.heads + stats.waited;
  stats.opens = opens_.load(std::memory_order_relaxed);
  stats.errors = errors_.load(std::memory_order_relaxed);
  stats.in_flight = in_flight_.load(std::memory_order_relaxed);
  stats.read_bytes = sizes_.snapshot();
  stats.latency_seconds = latencies_.snapshot(1e-9);
  stats.bytes = sizes_.sum();
  stats.seconds = stats.latency_seconds.sum;
  return stats;
}

}  // namespace forebay
