#include "store/bounded/bounded_store.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "forebay/stats/store.h"
#include "runtime/fork_guard.h"
#include "store/calls.h"
#include "store/request_slots.h"

namespace forebay {

namespace {

/// Admits a limited number of calls at a time, in the order in which they came. Each admitted call
/// must leave(). Methods may be called from any thread.
class Gate {
 public:
  explicit Gate(int most) : most_(most) {}

  void enter(std::function<void()> start) {
    {
      const Lock lock(mutex_);
      waiting_.push_back(std::move(start));
    }
    start_admitted();
  }
  void leave() {
    {
      const Lock lock(mutex_);
      --inside_;
    }
    start_admitted();
  }
  /// Drops the waiting calls.
  void clear() {
    // Declared before the lock, so that the calls are destroyed after it is released.
    std::deque<std::function<void()>> waiting;
    const Lock lock(mutex_);
    waiting_.swap(waiting);
  }

 private:
  // Starts waiting calls while there is room. Only one thread does so at a time: a store that
  // answers at once would otherwise recurse as deep as calls wait.
  void start_admitted() {
    Lock lock(mutex_);
    if (starting_) return;
    starting_ = true;
    while (!waiting_.empty() && inside_ < most_) {
      const std::function<void()> start = std::move(waiting_.front());
      waiting_.pop_front();
      ++inside_;
      lock.unlock();
      start();
      lock.lock();
    }
    starting_ = false;
  }

  const int most_;
  Mutex mutex_;
  std::deque<std::function<void()>> waiting_ FOREBAY_GUARDED_BY(mutex_);
  int inside_ FOREBAY_GUARDED_BY(mutex_) = 0;
  bool starting_ FOREBAY_GUARDED_BY(mutex_) = false;
};

class Bounded final : public Store {
 public:
  Bounded(std::shared_ptr<Store> inner, int most)
      : inner_(std::move(inner)), most_(most), core_(std::make_shared<Core>(most)) {}

  ~Bounded() override {
    if (process_generation() != generation_) {  // a fork: threads that hold locks are not here
      new std::shared_ptr<Core>(core_);
      return;
    }
    core_->calls.close();
    core_->gate.clear();
  }

  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override {
    start<Buffer>(request.key, std::move(stop), std::move(done),
                  [inner = inner_, request](std::stop_token s, ReadDone d) { inner->read(request, s, std::move(d)); });
  }
  void list(const ListRequest& request, std::stop_token stop, ListDone done) override {
    start<ListPage>(
        request.prefix, std::move(stop), std::move(done),
        [inner = inner_, request](std::stop_token s, ListDone d) { inner->list(request, s, std::move(d)); });
  }
  void stat(const std::string& key, std::stop_token stop, StatDone done) override {
    start<ObjectInfo>(key, std::move(stop), std::move(done),
                      [inner = inner_, key](std::stop_token s, StatDone d) { inner->stat(key, s, std::move(d)); });
  }
  bool remote() const override { return inner_->remote(); }
  bool reads_now() const override { return inner_->reads_now(); }
  std::optional<Result<Buffer>> read_now(const ReadRequest& request) override { return inner_->read_now(request); }
  ListingTraits listing() const override {
    ListingTraits traits = inner_->listing();
    traits.at_once = std::min(traits.at_once, static_cast<size_t>(most_));
    return traits;
  }
  std::shared_ptr<RequestSlots> slots() override { return inner_->slots(); }
  std::shared_ptr<void> begin_reading() override { return inner_->begin_reading(); }
  std::shared_ptr<ReclaimableMemory> idle_memory() const override { return inner_->idle_memory(); }
  std::string display_name(const std::string& key) const override { return inner_->display_name(key); }
  StoreStats stats() const override { return inner_->stats(); }

 private:
  struct Core {
    explicit Core(int most) : gate(most) {}
    CallTable calls;
    Gate gate;
  };

  template <typename T, typename Ask>
  void start(const std::string& key, std::stop_token stop, std::function<void(Result<T>)> done, Ask ask) {
    if (process_generation() != generation_) {
      done(invalid_argument("this store was made before a fork; open the data again in the new process")
               .with_key(inner_->display_name(key)));
      return;
    }
    const auto call = core_->calls.begin<T>(inner_->display_name(key), stop, std::move(done));
    if (call->answered()) return;
    const auto keep = core_;  // an answer may destroy this store
    keep->gate.enter([core = keep, call, stop, ask] {
      if (call->answered()) return core->gate.leave();  // it was stopped while it waited
      ask(stop, [core, call](Result<T> result) {
        // Left before the answer, so that a caller that reads again at once is admitted.
        core->gate.leave();
        call->answer(std::move(result));
      });
    });
  }

  const uint64_t generation_ = process_generation();
  const std::shared_ptr<Store> inner_;
  const int most_;
  const std::shared_ptr<Core> core_;
};

}  // namespace

std::shared_ptr<Store> bounded_store(std::shared_ptr<Store> inner, int most) {
  return std::make_shared<Bounded>(std::move(inner), most);
}

}  // namespace forebay
