#include "store/slow/slow_store.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/mutex.h"
#include "forebay/stats/store.h"
#include "runtime/fork_guard.h"
#include "store/calls.h"
#include "store/request_slots.h"
#include "store/timer.h"

namespace forebay {

namespace {

class Slow final : public SlowStore {
 public:
  Slow(std::shared_ptr<Store> inner, const SlowOptions& options)
      : inner_(std::move(inner)), core_(std::make_shared<Core>(options)) {}

  /// Answers all calls first, so that late answers of the inner store find none waiting; then ends
  /// the timer, then the inner store.
  ~Slow() override {
    if (process_generation() != generation_) {  // a fork: the timer's thread is not here
      new std::shared_ptr<Core>(core_);
      return;
    }
    core_->calls.close();
    core_->timer.close();
  }

  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override {
    start<Buffer>(
        request.key, stop, std::move(done),
        [&](std::stop_token s, ReadDone d) { inner_->read(request, std::move(s), std::move(d)); },
        call_kind_of(request));
  }
  void list(const ListRequest& request, std::stop_token stop, ListDone done) override {
    start<ListPage>(request.prefix + '\n' + request.continuation + request.after, stop, std::move(done),
                    [&](std::stop_token s, ListDone d) { inner_->list(request, std::move(s), std::move(d)); });
  }
  void stat(const std::string& key, std::stop_token stop, StatDone done) override {
    start<ObjectInfo>(key, stop, std::move(done),
                      [&](std::stop_token s, StatDone d) { inner_->stat(key, std::move(s), std::move(d)); });
  }
  std::shared_ptr<RequestSlots> slots() override { return slots_; }
  std::shared_ptr<void> begin_reading() override { return inner_->begin_reading(); }
  std::shared_ptr<ReclaimableMemory> idle_memory() const override { return inner_->idle_memory(); }
  bool remote() const override { return inner_->remote(); }
  ListingTraits listing() const override { return inner_->listing(); }
  std::string display_name(const std::string& key) const override { return inner_->display_name(key); }
  /// Requests are counted as they arrive over the imitated link; files and attempts as the inner
  /// store counts them.
  StoreStats stats() const override {
    StoreStats stats = core_->calls.stats();
    const StoreStats behind = inner_->stats();
    stats.opens = behind.opens;
    stats.attempts = behind.attempts;
    stats.retries = behind.retries;
    stats.throttled = behind.throttled;
    stats.timeouts = behind.timeouts;
    stats.hedges = behind.hedges;
    stats.hedges_won = behind.hedges_won;
    return stats;
  }

  void advance(std::chrono::nanoseconds by) override { core_->timer.advance(by); }

  std::chrono::nanoseconds delay(std::string_view key, uint32_t asked, uint64_t bytes) const override {
    return core_->delay(key, asked, bytes);
  }
  bool fails(std::string_view key, uint32_t asked) const override { return core_->fails(key, asked); }

 private:
  /// State that callbacks of the inner store and of the timer share. They do not hold the store, so
  /// that it is never destroyed on a thread of its own.
  struct Core {
    explicit Core(const SlowOptions& o) : options(o), timer(o.manual_clock) {}

    /// Returns a number evenly spread over [0, 1) that depends only on the arguments and the seed.
    double draw(std::string_view key, uint32_t asked, uint32_t what) const {
      Hasher hasher;
      // A hash instead of a generator: the result must not depend on what other threads request.
      hasher.update_value(options.seed);
      hasher.update_value(asked);
      hasher.update_value(what);
      hasher.update(key);
      return static_cast<double>(hasher.digest().low >> 11) * 0x1p-53;
    }
    std::chrono::nanoseconds delay(std::string_view key, uint32_t asked, uint64_t bytes) const {
      double ms = options.latency_ms + options.jitter_ms * draw(key, asked, 0);
      if (options.bandwidth_bytes_per_s > 0) ms += 1e3 * static_cast<double>(bytes) / options.bandwidth_bytes_per_s;
      // Thirty years. Not much more fits in 64 bits of nanoseconds.
      constexpr double kMaxMs = 1e12;
      return std::chrono::nanoseconds(static_cast<int64_t>(std::min(ms, kMaxMs) * 1e6));
    }
    bool fails(std::string_view key, uint32_t asked) const {
      return options.error_rate > 0 && draw(key, asked, 1) < options.error_rate;
    }
    uint32_t times_asked(std::string_view key) {
      const Lock lock(mutex);
      return counts[hash128(key).low]++;
    }

    const SlowOptions options;
    Mutex mutex;
    // Grows with the number of keys, not requests.
    std::unordered_map<uint64_t, uint32_t> counts FOREBAY_GUARDED_BY(mutex);
    CallTable calls;
    Timer timer;
  };

  template <typename T, typename Ask>
  void start(const std::string& key, std::stop_token stop, std::function<void(Result<T>)> done, Ask&& ask,
             CallKind kind = call_kind_of<T>()) {
    if (process_generation() != generation_) {
      done(invalid_argument("this store was made before a fork; open the data again in the new process")
               .with_key(inner_->display_name(key)));
      return;
    }
    const uint32_t asked = core_->times_asked(key);
    const auto begin = core_->timer.now();
    const auto call = core_->calls.begin<T>(inner_->display_name(key), stop, std::move(done), kind);
    if (call->answered()) return;
    const std::function<void(Result<T>)> answer_later = [core = core_, call, key, asked, begin](Result<T> result) {
      uint64_t bytes = 0;
      if constexpr (std::is_same_v<T, Buffer>) bytes = result.ok() ? result->size() : 0;
      if (call->answered()) return;
      auto held = std::make_shared<Result<T>>(std::move(result));
      const bool set = core->timer.at(begin + core->delay(key, asked, bytes), [core, call, held] {
        call->answer(std::move(*held));  // may destroy the store, but not the core
      });
      if (!set) call->answer(unavailable("no thread could be started; raise the limit of processes (ulimit -u)"));
    };
    if (core_->fails(key, asked)) {
      answer_later(
          unavailable("simulated failure of the link; trying again may help").with_key(inner_->display_name(key)));
    } else {
      ask(stop, answer_later);
    }
  }

  const uint64_t generation_ = process_generation();
  const std::shared_ptr<Store> inner_;
  const std::shared_ptr<Core> core_;
  const std::shared_ptr<RequestSlots> slots_ = std::make_shared<RequestSlots>();
};

}  // namespace

std::shared_ptr<SlowStore> slow_store(std::shared_ptr<Store> inner, SlowOptions options) {
  return std::make_shared<Slow>(std::move(inner), options);
}

}  // namespace forebay
