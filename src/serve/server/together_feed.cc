#include <utility>

#include <fmt/format.h>

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
    position_->close();
    leave();
  }

  Result<std::optional<Batch>> next_for(std::chrono::milliseconds timeout, bool* timed_out) override {
    *timed_out = false;
    if (std::exchange(epoch_over_, false)) return std::optional<Batch>();
    if (position_->finished()) return position_->next_for(timeout, timed_out);
    FOREBAY_RETURN_IF_ERROR(find_run());
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
    leave();
  }
  Ledger stats() const override {
    const std::shared_ptr<TogetherRun> now = run();
    return now ? now->loader().stats() : position_->stats();
  }
  std::vector<ErrorEntry> errors() const override {
    const std::shared_ptr<TogetherRun> now = run();
    return now ? now->loader().errors() : position_->errors();
  }
  void close() override { position_->close(); }  // the seat belongs to the client's thread
  std::string shares() const override {
    const std::shared_ptr<TogetherRun> now = run();
    return now && now->seats() > 1 ? fmt::format("batches, with {} others", now->seats() - 1) : "";
  }

  /// A seat where the position is. Alone in a run, it looks whether another one has come to this place.
  Status find_run() {
    const std::shared_ptr<TogetherRun> now = run();
    const bool seated = now && now->seated(seat_);
    if (seated && now->seats() > 1) return {};
    const std::string state = position_->state();
    if (seated) {
      TogetherRun::Seat other;
      std::shared_ptr<TogetherRun> found = runs_->other(key_, now.get(), state, other);
      if (!found) return {};
      found->leave(other);
      leave();
    }
    FOREBAY_ASSIGN(std::shared_ptr<TogetherRun> joined, runs_->join(key_, state, wanted_, seat_, open_));
    set_run(std::move(joined));
    return {};
  }

 private:
  std::shared_ptr<TogetherRun> run() const {
    const std::lock_guard lock(mutex_);
    return run_;
  }
  void set_run(std::shared_ptr<TogetherRun> next) {
    const std::lock_guard lock(mutex_);
    run_ = std::move(next);
  }

  void leave() {
    const std::shared_ptr<TogetherRun> was = run();
    if (!was) return;
    was->leave(seat_);
    set_run(nullptr);
    runs_->left(key_, was);
  }

  Result<std::optional<Batch>> arrive(const TogetherRun::Step& step) {
    const int64_t epoch = position_->epoch();
    FOREBAY_RETURN_IF_ERROR(position_->load_state(step.after));
    epoch_over_ = position_->epoch() != epoch;
    if (!step.batch.ok()) return step.batch.status();
    return std::optional<Batch>(*step.batch);
  }

  const std::unique_ptr<Loader> position_;
  const std::shared_ptr<TogetherRuns> runs_;
  const std::string key_;
  const int wanted_;
  const TogetherRuns::Open open_;
  mutable std::mutex mutex_;  // guards run_ against stats() from other threads
  std::shared_ptr<TogetherRun> run_;
  TogetherRun::Seat seat_;
  bool epoch_over_ = false;  // the last batch of an epoch was given, its end was not told
};

}  // namespace

Result<std::unique_ptr<Feed>> together_feed(std::unique_ptr<Loader> position, std::shared_ptr<TogetherRuns> runs,
                                            std::string key, int wanted, TogetherRuns::Open open) {
  auto feed =
      std::make_unique<TogetherFeed>(std::move(position), std::move(runs), std::move(key), wanted, std::move(open));
  FOREBAY_RETURN_IF_ERROR(feed->find_run());
  return std::unique_ptr<Feed>(std::move(feed));
}

}  // namespace forebay
