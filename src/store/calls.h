#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include "forebay/result.h"
#include "store/store.h"
#include "telemetry/log_histogram.h"

namespace forebay {

/// What a store is asked for: the bytes of an object, a page of a listing, or what there is to know of an object without its bytes.
enum class Asked : uint8_t { kRead, kListing, kHead };

template <typename T>
constexpr Asked asked_for() {
  if (std::is_same_v<T, ListPage>) return Asked::kListing;
  return std::is_same_v<T, ObjectInfo> ? Asked::kHead : Asked::kRead;
}

inline Asked asked_by(const ReadRequest& request) { return request.version_only ? Asked::kHead : Asked::kRead; }

/// An asynchronous call that has not answered yet. Whoever comes first (the work, a stop request, the store's end)
/// answers; the others change nothing.
class CallBase {
 public:
  virtual ~CallBase() = default;
  virtual void cancel(const char* why) = 0;
  bool answered() const { return answered_.load(std::memory_order_acquire); }

 protected:
  friend class CallTable;
  std::atomic<bool> answered_{false};
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Asked asked_ = Asked::kRead;
  std::list<std::shared_ptr<CallBase>>::iterator place_;
};

template <typename T>
class Call;

/// The calls of one store that are in flight: counts them, and ends them when the store goes. What every asynchronous
/// store needs in order to keep the promises of Store. May be used from any thread.
class CallTable {
 public:
  /// Enters a call. It answers kCancelled at once where `stop` was requested or the table is closed. `asked`: what it counts as.
  template <typename T>
  std::shared_ptr<Call<T>> begin(std::string name, std::stop_token stop, std::function<void(Result<T>)> done,
                                 Asked asked = asked_for<T>());

  /// Every call in flight answers kCancelled, later ones too; returns when no answer is running any more, except those
  /// that this thread is inside of.
  void close();

  /// Counts a read that was answered without a call.
  void count_immediate(uint64_t bytes, bool ok);
  /// Counts a file that was opened, or tried to.
  void count_open() { opens_.fetch_add(1, std::memory_order_relaxed); }
  StoreStats stats() const;

 private:
  template <typename T>
  friend class Call;
  /// The answers that the current thread is giving, innermost first: close() must not wait for these.
  struct Frame {
    explicit Frame(const CallTable* t);
    ~Frame();
    const CallTable* table;
    Frame* outer;
  };

  bool enter(std::shared_ptr<CallBase> call);
  /// Before the answer is given, so that whoever gets it finds it counted. `bytes`: of a read that brought them.
  void count(const CallBase& call, std::optional<uint64_t> bytes, bool ok);
  void leave(CallBase& call);

  mutable std::mutex mutex_;
  std::condition_variable left_;
  std::list<std::shared_ptr<CallBase>> calls_;
  bool closed_ = false;
  std::atomic<uint64_t> waited_{0}, in_flight_{0}, immediate_{0}, errors_{0}, listings_{0}, heads_{0}, opens_{0};
  SizeHistogram sizes_;
  LatencyHistogram latencies_;
};

template <typename T>
class Call final : public CallBase, public std::enable_shared_from_this<Call<T>> {
 public:
  Call(CallTable& table, std::string name, std::function<void(Result<T>)> done, Asked asked)
      : table_(table), name_(std::move(name)), done_(std::move(done)) {
    asked_ = asked;
  }

  /// True when this was the answer.
  bool answer(Result<T> result) {
    // The table may hold the last reference, and leave() gives that up. Expired: the stop comes while the call is being destroyed.
    const auto keep = this->weak_from_this().lock();
    if (!keep || answered_.exchange(true, std::memory_order_acq_rel)) return false;
    std::optional<uint64_t> bytes;
    if constexpr (std::is_same_v<T, Buffer>) {
      if (result.ok() && asked_ == Asked::kRead) bytes = result->size();
    }
    table_.count(*this, bytes, result.ok() || result.status().code() == Code::kCancelled);
    {
      CallTable::Frame frame(&table_);
      done_(std::move(result));
      done_ = nullptr;  // what the answer held goes before the store may
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
      on_stop_;  // last: its end waits for a running callback, which uses the rest
};

template <typename T>
std::shared_ptr<Call<T>> CallTable::begin(std::string name, std::stop_token stop, std::function<void(Result<T>)> done,
                                          Asked asked) {
  auto call = std::make_shared<Call<T>>(*this, std::move(name), std::move(done), asked);
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
