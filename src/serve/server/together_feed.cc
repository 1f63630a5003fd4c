#include <algorithm>
#include <future>
#include <iterator>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "serve/server/carried_counters.h"
#include "serve/server/together.h"

namespace forebay {

namespace {

class TogetherFeed final : public Feed {
 public:
  TogetherFeed(std::unique_ptr<Loader> position, std::shared_ptr<TogetherRuns> runs, std::string key, int wanted,
               TogetherRuns::Open open)
      : position_(std::move(position)), runs_(std::move(runs)), key_(std::move(key)), wanted_(wanted),
        open_(std::move(open)) {}
  ~TogetherFeed() override {
    close();
    forget_search();
    leave();
  }

  Result<std::optional<Batch>> next_for(std::chrono::milliseconds timeout, bool* timed_out) override {
    *timed_out = false;
    if (std::exchange(epoch_over_, false)) return std::optional<Batch>();
    if (position_->finished()) return position_->next_for(timeout, timed_out);
    FOREBAY_ASSIGN(const bool found, find_run(timeout));
    if (!found) {
      *timed_out = true;
      return std::optional<Batch>();
    }
    FOREBAY_ASSIGN(const TogetherRun::StepPtr step, run()->take(seat_, timeout));
    if (step) return arrive(*step);
    if (run()->seated(seat_)) {
      *timed_out = true;
      return std::optional<Batch>();
    }
    const bool over = run()->over();
    leave();
    // Nothing is left to give, or nothing is in this epoch: the position says which. Else this client was too slow.
    return over ? position_->next_for(timeout, timed_out) : next_for(timeout, timed_out);
  }

  Loader& position() override { return *position_; }
  void moved() override {
    epoch_over_ = false;
    forget_search();
    leave();
  }
  Ledger stats() const override {
    std::shared_ptr<TogetherRun> now;
    std::vector<Left> before;
    {
      const std::lock_guard lock(mutex_);
      now = run_;
      before = left_;
    }
    Ledger sum = now ? now->loader().stats() : position_->stats();
    for (const Left& each : before) carry_counters(each.counted, sum, /*same_store=*/true);
    return sum;
  }
  std::vector<ErrorEntry> errors() const override {
    const std::shared_ptr<TogetherRun> now = run();
    return now ? now->loader().errors() : position_->errors();
  }
  // The seat belongs to the client's thread.
  void close() override {
    std::stop_source search;
    {
      const std::lock_guard lock(mutex_);
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

  /// A seat where the position is; false: it takes longer. Alone in a run, it looks whether another one has come to this place.
  Result<bool> find_run(std::chrono::milliseconds timeout) {
    if (search_.valid()) return end_search(timeout);
    const std::shared_ptr<TogetherRun> now = run();
    const bool seated = now && now->seated(seat_);
    if (seated && now->seats() > 1) return true;
    const std::string state = position_->state();
    if (seated) {
      TogetherRun::Seat other;
      const std::shared_ptr<TogetherRun> found = runs_->other(key_, now.get(), state, other);
      if (!found) return true;
      found->leave(other);
    }
    leave();
    if (std::shared_ptr<TogetherRun> found = runs_->other(key_, nullptr, state, seat_)) {
      set_run(std::move(found));
      return true;
    }
    begin_search(state);
    return end_search(timeout);
  }

 private:
  std::shared_ptr<TogetherRun> run() const {
    const std::lock_guard lock(mutex_);
    return run_;
  }
  void set_run(std::shared_ptr<TogetherRun> next) {
    const std::lock_guard lock(mutex_);
    run_ = std::move(next);
    // Whoever is back looks at that run's own counters again.
    std::erase_if(left_,
                  [&](const Left& each) { return !each.run.owner_before(run_) && !run_.owner_before(each.run); });
  }

  void leave() {
    const std::shared_ptr<TogetherRun> was = run();
    if (!was) return;
    was->leave(seat_);
    leave_counters(was);
    runs_->left(key_, was);
  }

  void leave_counters(const std::shared_ptr<TogetherRun>& was) {
    Left left{was, was->loader().stats()};
    const std::lock_guard lock(mutex_);
    run_ = nullptr;
    // Runs that are over do not come back: one sum for all of them, however often the client goes elsewhere.
    const auto over = std::ranges::find_if(left_, [](const Left& each) { return each.run.expired(); });
    if (over == left_.end()) return left_.push_back(std::move(left));
    for (auto each = std::next(over); each != left_.end(); ++each)
      if (each->run.expired()) carry_counters(each->counted, over->counted, /*same_store=*/true);
    const auto* const sum = &*over;
    std::erase_if(left_, [&](const Left& each) { return &each != sum && each.run.expired(); });
    left_.push_back(std::move(left));
  }

  // Beside the client's thread, which has questions to answer: a pass over the data takes a while. Until it has ended, run_ and seat_ are its own.
  void begin_search(const std::string& state) {
    std::stop_source stop;
    {
      const std::lock_guard lock(mutex_);
      searching_ = stop;
      if (closed_) stop.request_stop();
    }
    const auto search = [this, state, ends = stop.get_token()] {
      return runs_->join(key_, state, wanted_, seat_, open_, ends);
    };
    try {
      search_ = std::async(std::launch::async, search);
    } catch (const std::system_error&) {
      search_ = std::async(std::launch::deferred, search);  // no thread is to be had: on this one, when it is asked for
    }
  }
  Result<bool> end_search(std::chrono::milliseconds timeout) {
    if (search_.wait_for(timeout) == std::future_status::timeout) return false;
    FOREBAY_ASSIGN(std::shared_ptr<TogetherRun> joined, search_.get());
    set_run(std::move(joined));
    return true;
  }
  // The client goes elsewhere: what is being opened is told to stop, and a seat that was found is left.
  void forget_search() {
    if (!search_.valid()) return;
    std::stop_source stop;
    {
      const std::lock_guard lock(mutex_);
      stop = searching_;
    }
    stop.request_stop();
    search_.wait();
    (void)end_search(std::chrono::milliseconds(0));
  }

  Result<std::optional<Batch>> arrive(const TogetherRun::Step& step) {
    const int64_t epoch = position_->epoch();
    FOREBAY_RETURN_IF_ERROR(position_->load_state(step.after));
    epoch_over_ = position_->epoch() != epoch;
    if (!step.batch.ok()) return step.batch.status();
    return std::optional<Batch>(*step.batch);
  }

  // A run that this client had a seat in, and what it had counted by then.
  struct Left {
    std::weak_ptr<TogetherRun> run;
    Ledger counted;
  };

  const std::unique_ptr<Loader> position_;
  const std::shared_ptr<TogetherRuns> runs_;
  const std::string key_;
  const int wanted_;
  const TogetherRuns::Open open_;
  mutable std::mutex mutex_;  // guards what follows, up to the seat, against stats() and close() from other threads
  std::shared_ptr<TogetherRun> run_;
  std::vector<Left> left_;
  std::stop_source searching_;
  bool closed_ = false;
  TogetherRun::Seat seat_;
  std::future<Result<std::shared_ptr<TogetherRun>>> search_;
  bool epoch_over_ = false;  // the last batch of an epoch was given, its end was not told
};

}  // namespace

Result<std::unique_ptr<Feed>> together_feed(std::unique_ptr<Loader> position, std::shared_ptr<TogetherRuns> runs,
                                            std::string key, int wanted, TogetherRuns::Open open,
                                            const std::stop_token& stop) {
  auto feed =
      std::make_unique<TogetherFeed>(std::move(position), std::move(runs), std::move(key), wanted, std::move(open));
  // By its own address: what is returned goes from `feed` into the result before this ends.
  const std::stop_callback closes(stop, [raw = feed.get()] { raw->close(); });
  for (bool found = false; !found;) {
    FOREBAY_ASSIGN(found, feed->find_run(std::chrono::hours(1)));
  }
  return std::unique_ptr<Feed>(std::move(feed));
}

}  // namespace forebay
