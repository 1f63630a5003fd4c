#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "loader/run/sample_labels.h"
#include "loader/run/stream_run.h"

namespace forebay {

/// The records of a stream's steps. Records in the replay buffer are retained by ReplayRecords.
class StreamRun::Samples final : public RunSamples {
 public:
  Samples(SampleLabels labels, std::shared_ptr<StreamRun> run) : labels_(std::move(labels)), run_(std::move(run)) {}

  Result<std::vector<Rehearsal::Sample>> new_samples(const StepPlan& step) const override {
    const auto [from, to] = numbers_of(step);
    const std::vector<int64_t> missing = run_->stream_->missing(from, to);
    std::vector<Rehearsal::Sample> samples;
    for (int64_t number = from; number < to; ++number) {
      if (std::binary_search(missing.begin(), missing.end(), number)) continue;
      FOREBAY_ASSIGN(const int64_t label, labels_.of_record(*run_->source_, number));
      samples.push_back({number, label});
    }
    return samples;
  }
  // Retains the records however far the run gets. One of the ranks has each, in memory or on disk.
  Status retain(const StepPlan& step, std::span<const int64_t> entered) override {
    return run_->replay_->retain(*run_->stream_, entered, numbers_of(step).second);
  }
  void release(std::span<const int64_t> left) override { run_->replay_->release(left); }
  void start_fetch(std::span<const int64_t> ids) override {
    if (run_->exchange_) run_->exchange_->start_fetch(run_->replay_->pin(ids));
  }
  void on_delivered(std::span<const int64_t> ids) override { run_->replay_->unpin(ids); }
  Result<bool> all_available(std::span<const int64_t> ids) const override {
    if (!run_->exchange_ || run_->replay_->all_available(ids)) return true;
    FOREBAY_RETURN_IF_ERROR(run_->exchange_->failure());
    return false;
  }
  std::string awaited() const override { return run_->exchange_ ? run_->exchange_->awaited() : ""; }

  // Returns their places in the log, from which they are read again when the run resumes.
  std::optional<std::vector<PlacedRecord>> records(std::span<const int64_t> ids) const override {
    return run_->replay_->places(ids);
  }
  Status find(std::span<const int64_t> ids, std::span<const PlacedRecord> records) override {
    FOREBAY_RETURN_IF_ERROR(run_->replay_->restore(records));
    if (std::ranges::all_of(ids, [&](int64_t id) { return run_->replay_->contains(id); })) return {};
    return invalid_argument("this state keeps records of which it does not say where they lie");
  }
  Status check_before(std::span<const int64_t> ids) const override {
    const int64_t first = run_->beginning_.number;
    for (const int64_t id : ids) {
      if (id >= first)
        return Status(
            Code::kStateMismatch,
            fmt::format("rehearsal=: record {} was kept, and this run begins with record {}, so it would meet "
                        "another one of that number; go on from the state with load_state_dict(), or repeat "
                        "the journal that begins there",
                        id, first));
    }
    return {};
  }

 private:
  // Returns the numbers of a step's records over all ranks: the first, and one after the last.
  std::pair<int64_t, int64_t> numbers_of(const StepPlan& step) const {
    const int64_t from = run_->steps_->number_at(step.at);
    return {from, from + run_->steps_->size_at(from)};
  }

  const SampleLabels labels_;
  const std::shared_ptr<StreamRun> run_;
};

std::shared_ptr<RunSamples> StreamRun::samples(const SampleLabels& labels) {
  return std::make_shared<Samples>(labels, shared_from_this());
}

}  // namespace forebay
