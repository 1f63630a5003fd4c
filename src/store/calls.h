#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include "base/cond_var.h"
#include "base/mutex.h"
#include "forebay/result.h"
#include "store/store.h"
#include "telemetry/log_histogram.h"

namespace forebay {

/// Kinds of calls, as StoreStats counts them: a read of bytes, a page of a listing, or a request
/// for the size or version of one object.
enum class CallKind : uint8_t { kRead, kListing, kHead };

template <typename T>
constexpr CallKind call_kind_of() {
  if (std::is_same_v<T, ListPage>) return CallKind::kListing;
  return std::is_same_v<T, ObjectInfo> ? CallKind::kHead : CallKind::kRead;
}

inline CallKind call_kind_of(const ReadRequest& request) {
  return request.version_only ? CallKind::kHead : CallKind::kRead;
}

/// An asynchronous call. It is answered once, by whichever comes first: the result of the work, a
/// stop request, or the end of the store. Later answers have no effect.
class CallBase {
 public:
  virtual ~CallBase() = default;
  virtual void cancel(const char* why) = 0;
  bool answered() const { return answered_.load(std::memory_order_acquire); }

 protected:
  friend class CallTable;
  std::atomic<bool> answered_{false};
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  CallKind kind_ = CallKind::kRead;
  std::list<std::shared_ptr<CallBase>>::iterator position_;
};

template <typename T>
class Call;

/// The calls of one store that are in flight. Counts them, and cancels them when the store is
/// destroyed. Every asynchronous store uses one to keep the promises of Store. Methods may be
/// called from any thread.
class CallTable {
 public:
  /// Begins a call. It is answered kCancelled at once if `stop` was requested or the table is
  /// closed. `kind`: the kind that it counts as.
  template <typename T>
  std::shared_ptr<Call<T>> begin(std::string name, std::stop_token stop, std::function<void(Result<T>)> done,
                                 CallKind kind = call_kind_of<T>());

  /// Cancels every call in flight and all later ones. Returns when no answer is running any more,
  /// except answers that this thread is inside of.
  void close();

  /// Counts a read that was answered without a call.
  void count_immediate(uint64_t bytes, bool ok);
  /// Counts a file that was opened, or that failed to open.
  void count_open() { opens_.fetch_add(1, std::memory_order_relaxed); }
  StoreStats stats() const;

 private:
  template <typename T>
  friend class Call;
  /// An answer that the current thread is giving, linked to the next outer one. close() must not
  /// wait for these.
  struct AnswerFrame {
    explicit AnswerFrame(const CallTable* t);
    ~AnswerFrame();
    const CallTable* table;
    AnswerFrame* outer;
  };

  bool enter(std::shared_ptr<CallBase> call);
  /// Counts the call before it is answered, so that its caller finds it counted. `bytes`: the size,
  /// if the call read bytes.
  void count(const CallBase& call, std::optional<uint64_t> bytes, bool ok);
  void leave(CallBase& call);

  mutable Mutex mutex_;
  CondVar left_;
  std::list<std::shared_ptr<CallBase>> calls_ FOREBAY_GUARDED_BY(mutex_);
  bool closed_ FOREBAY_GUARDED_BY(mutex_) = false;
  std::atomic<uint64_t> waited_{0}, in_flight_{0}, immediate_{0}, errors_{0}, listings_{0}, heads_{0}, opens_{0};
  SizeHistogram sizes_;
  LatencyHistogram latencies_;
};

/// A call whose answer has type T. It owns the callback until the answer is given. The table holds
/// it while it is in flight.
template <typename T>
class Call final : public CallBase, public std::enable_shared_from_this<Call<T>> {
 public:
  Call(CallTable& table, std::string name, std::function<void(Result<T>)> done, CallKind kind)
      : table_(table), name_(std::move(name)), done_(std::move(done)) {
    kind_ = kind;
  }

  /// Answers the call. Returns false if it was answered before.
  bool answer(Result<T> result) {
    // The table may hold the last reference, which leave() releases. An expired pointer means that
    // a stop arrives while the call is being destroyed.
    const auto keep = this->weak_from_this().lock();
    if (!keep || answered_.exchange(true, std::memory_order_acq_rel)) return false;
    std::optional<uint64_t> bytes;
    if constexpr (std::is_same_v<T, Buffer>) {
      if (result.ok() && kind_ == CallKind::kRead) bytes = result->size();
    }
    table_.count(*this, bytes, result.ok() || result.status().code() == Code::kCancelled);
    {
      CallTable::AnswerFrame frame(&table_);
      done_(std::move(result));
      // State that the callback holds must be released while the store certainly lives.
      done_ = nullptr;
    }
    table_.leave(*this);
    return true;
  }

  void cancel(const char* why) override { answer(cancelled(why).with_key(name_)); }

 private:
  friend class CallTable;
  struct OnStop {
    Call* call;
    void operator()() const { call->cancel("stopped while waiting for storage"); }
  };

  CallTable& table_;
  const std::string name_;
  std::function<void(Result<T>)> done_;
  std::optional<std::stop_callback<OnStop>>
      on_stop_;  // last: its destructor waits for a running callback, which uses the other members
};

template <typename T>
std::shared_ptr<Call<T>> CallTable::begin(std::string name, std::stop_token stop, std::function<void(Result<T>)> done,
                                          CallKind kind) {
  auto call = std::make_shared<Call<T>>(*this, std::move(name), std::move(done), kind);
  if (!enter(call)) {
    call->cancel("the store was closed");
  } else if (stop.stop_requested()) {
    call->cancel("stopped before the request was sent");
  } else if (stop.stop_possible()) {
    call->on_stop_.emplace(std::move(stop), typename Call<T>::OnStop{call.get()});
  }
  return call;
}

}  // namespace forebay
