#include <algorithm>
#include <future>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/mutex.h"
#include "forebay/ledger.h"
#include "serve/server/carried_counters.h"
#include "serve/server/together.h"

namespace forebay {

namespace {

class TogetherFeed final : public Feed {
 public:
  TogetherFeed(std::shared_ptr<Loader> position, std::shared_ptr<TogetherRuns> runs, TogetherKey key, int group_size,
               TogetherRuns::Open open)
      : position_(std::move(position)), runs_(std::move(runs)), key_(std::move(key)), group_size_(group_size),
        open_(std::move(open)) {}
  ~TogetherFeed() override {
    close();
    cancel_search();
    leave();
  }

  Result<std::optional<Batch>> next_for(std::chrono::milliseconds timeout, bool* timed_out) override {
    *timed_out = false;
    if (std::exchange(end_pending_, false)) return std::optional<Batch>();
    if (position_->finished()) return position_->next_for(timeout, timed_out);
    FOREBAY_ASSIGN(const bool found, find_seat(timeout));
    if (!found) {
      *timed_out = true;
      return std::optional<Batch>();
    }
    FOREBAY_ASSIGN(const TogetherRun::StepPtr step, run()->next_step(seat_, timeout));
    if (step) return deliver(*step);
    if (run()->seated(seat_)) {
      *timed_out = true;
      return std::optional<Batch>();
    }
    const bool over = run()->over();
    leave();
    // If the run is over, the position tells whether all epochs are over or this one is empty.
    // Otherwise this client was too slow and lost its seat.
    return over ? position_->next_for(timeout, timed_out) : next_for(timeout, timed_out);
  }

  Loader& position() override { return *position_; }
  void position_changed() override {
    end_pending_ = false;
    cancel_search();
    leave();
  }
  Ledger stats() const override {
    std::shared_ptr<TogetherRun> now;
    std::vector<Departure> before;
    {
      const Lock lock(mutex_);
      now = run_;
      before = departures_;
    }
    Ledger sum = now ? now->loader().stats() : position_->stats();
    for (const Departure& each : before) carry_counters(each.counters, sum, /*same_store=*/true);
    return sum;
  }
  std::vector<ErrorEntry> errors() const override {
    const std::shared_ptr<TogetherRun> now = run();
    return now ? now->loader().errors() : position_->errors();
  }
  // Leaves the seat alone, which belongs to the client's thread.
  void close() override {
    std::stop_source search;
    {
      const Lock lock(mutex_);
      closed_ = true;
      search = searching_;
    }
    search.request_stop();
    position_->close();
  }
  std::string shares() const override {
    const std::shared_ptr<TogetherRun> now = run();
    return now && now->seats() > 1 ? fmt::format("batches, with {} others", now->seats() - 1) : "";
  }

  /// Finds a seat at the position. Returns false if that takes longer. A client that is alone in
  /// its run moves to another run that has reached the same place.
  Result<bool> find_seat(std::chrono::milliseconds timeout) {
    if (search_.valid()) return end_search(timeout);
    const std::shared_ptr<TogetherRun> now = run();
    const bool seated = now && now->seated(seat_);
    if (seated && now->seats() > 1) return true;
    const std::string state = position_->state();
    if (seated) {
      TogetherRun::Seat other;
      const std::shared_ptr<TogetherRun> found = runs_->join_other(key_, now.get(), state, other);
      if (!found) return true;
      found->leave(other);
      runs_->release(key_, found);  // its members may have left meanwhile
    }
    leave();
    if (std::shared_ptr<TogetherRun> found = runs_->join_other(key_, nullptr, state, seat_)) {
      set_run(std::move(found));
      return true;
    }
    begin_search(state);
    return end_search(timeout);
  }

 private:
  std::shared_ptr<TogetherRun> run() const {
    const Lock lock(mutex_);
    return run_;
  }
  void set_run(std::shared_ptr<TogetherRun> next) {
    const Lock lock(mutex_);
    run_ = std::move(next);
    // A run that the client has joined again reports its own counters.
    std::erase_if(departures_, [&](const Departure& each) FOREBAY_REQUIRES(mutex_) {
      return !each.run.owner_before(run_) && !run_.owner_before(each.run);
    });
  }

  void leave() {
    const std::shared_ptr<TogetherRun> was = run();
    if (!was) return;
    was->leave(seat_);
    save_counters(was);
    runs_->release(key_, was);
  }

  void save_counters(const std::shared_ptr<TogetherRun>& was) {
    Departure departure{was, was->loader().stats()};
    const Lock lock(mutex_);
    run_ = nullptr;
    // Closed runs do not return, so one sum for all of them keeps the list short, however often the
    // client changes runs.
    const auto over = std::ranges::find_if(departures_, [](const Departure& each) { return each.run.expired(); });
    if (over == departures_.end()) return departures_.push_back(std::move(departure));
    for (auto each = std::next(over); each != departures_.end(); ++each)
      if (each->run.expired()) carry_counters(each->counters, over->counters, /*same_store=*/true);
    const auto* const sum = &*over;
    std::erase_if(departures_, [&](const Departure& each) { return &each != sum && each.run.expired(); });
    departures_.push_back(std::move(departure));
  }

  // Searches on another thread, because a pass over the data takes a while and the client's thread
  // has messages to answer. run_ and seat_ belong to the search until it has ended.
  void begin_search(const std::string& state) {
    std::stop_source stop;
    {
      const Lock lock(mutex_);
      searching_ = stop;
      if (closed_) stop.request_stop();
    }
    const auto search = [this, state, ends = stop.get_token()] {
      return runs_->join(key_, state, group_size_, seat_, open_, ends);
    };
    try {
      search_ = std::async(std::launch::async, search);
    } catch (const std::system_error&) {
      // No thread can be created. The search runs on this thread when its result is requested.
      search_ = std::async(std::launch::deferred, search);
    }
  }
  Result<bool> end_search(std::chrono::milliseconds timeout) {
    if (search_.wait_for(timeout) == std::future_status::timeout) return false;
    FOREBAY_ASSIGN(std::shared_ptr<TogetherRun> joined, search_.get());
    set_run(std::move(joined));
    return true;
  }
  // Ends the search because the client has changed its position, and leaves a seat that was found.
  void cancel_search() {
    if (!search_.valid()) return;
    std::stop_source stop;
    {
      const Lock lock(mutex_);
      stop = searching_;
    }
    stop.request_stop();
    search_.wait();
    (void)end_search(std::chrono::milliseconds(0));
  }

  Result<std::optional<Batch>> deliver(const TogetherRun::Step& step) {
    const int64_t epoch = position_->epoch();
    FOREBAY_RETURN_IF_ERROR(position_->load_state(step.after));
    end_pending_ = position_->epoch() != epoch;
    if (!step.batch.ok()) return step.batch.status();
    return std::optional<Batch>(*step.batch);
  }

  // A run in which this client had a seat, with the counters at that time.
  struct Departure {
    std::weak_ptr<TogetherRun> run;
    Ledger counters;
  };

  const std::shared_ptr<Loader> position_;
  const std::shared_ptr<TogetherRuns> runs_;
  const TogetherKey key_;
  const int group_size_;
  const TogetherRuns::Open open_;
  mutable Mutex mutex_;
  std::shared_ptr<TogetherRun> run_ FOREBAY_GUARDED_BY(mutex_);
  std::vector<Departure> departures_ FOREBAY_GUARDED_BY(mutex_);
  std::stop_source searching_ FOREBAY_GUARDED_BY(mutex_);
  bool closed_ FOREBAY_GUARDED_BY(mutex_) = false;
  // The client's thread, or a search of it, uses the rest alone.
  TogetherRun::Seat seat_;
  std::future<Result<std::shared_ptr<TogetherRun>>> search_;
  bool end_pending_ = false;  // the last batch of an epoch was delivered, but not the epoch's end
};

}  // namespace

Result<std::unique_ptr<Feed>> together_feed(std::shared_ptr<Loader> position, std::shared_ptr<TogetherRuns> runs,
                                            TogetherKey key, int group_size, TogetherRuns::Open open,
                                            const std::stop_token& stop) {
  auto feed =
      std::make_unique<TogetherFeed>(std::move(position), std::move(runs), std::move(key), group_size, std::move(open));
  // Captures the address, because `feed` is moved into the result before the callback is destroyed.
  const std::stop_callback closes(stop, [raw = feed.get()] { raw->close(); });
  for (bool found = false; !found;) {
    FOREBAY_ASSIGN(found, feed->find_seat(std::chrono::hours(1)));
  }
  return std::unique_ptr<Feed>(std::move(feed));
}

}  // namespace forebay
