#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "loader/run/run_samples.h"
#include "loader/run/sample_labels.h"
#include "loader/run/stream_run.h"

namespace forebay {

/// The records of a stream. Those in the replay buffer are retained by ReplayRecords.
class StreamRun::Replayed final : public ReplayBranch {
 public:
  Replayed(SampleLabels labels, std::shared_ptr<StreamRun> run) : labels_(std::move(labels)), run_(std::move(run)) {}

  int64_t id_at(int64_t place, int64_t) const override { return run_->steps_->number_at({0, place, 0}); }
  bool is_missing(int64_t id) const override { return run_->repeats() && !run_->stream_->missing(id, id + 1).empty(); }
  Result<std::vector<int64_t>> labels(std::span<const int64_t>, std::span<const int64_t> ids) const override {
    std::vector<int64_t> labels;
    for (const int64_t number : ids) {
      FOREBAY_ASSIGN(labels.emplace_back(), labels_.of_record(*run_->source_, number));
    }
    return labels;
  }
  // Retains the records however far the run gets. One of the ranks has each, in memory or on disk.
  Status retain(std::span<const int64_t> entered, int64_t next) override {
    return run_->replay_->retain(*run_->stream_, entered, next);
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
  Result<Restore> find(std::span<const int64_t> ids, std::span<const PlacedRecord> records) const override {
    FOREBAY_ASSIGN(ReplayRecords::Saved saved, run_->replay_->read(records));
    if (!std::ranges::all_of(ids, [&](int64_t id) { return saved.contains(id); }))
      return invalid_argument("this state keeps records of which it does not say where they lie");
    return Restore([replay = run_->replay_, saved = std::move(saved)] { replay->restore(saved); });
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
  const SampleLabels labels_;
  const std::shared_ptr<StreamRun> run_;
};

/// The records of the steps of a stream by itself.
class StreamRun::NewRecords final : public RunSamples {
 public:
  NewRecords(std::shared_ptr<ReplayBranch> stream, std::shared_ptr<const StreamRun> run)
      : RunSamples({std::move(stream)}), run_(std::move(run)) {}

 private:
  std::vector<Drawn> drawn(const StepPlan& step) const override {
    const int64_t from = run_->steps_->number_at(step.at);
    const int64_t to = from + run_->steps_->size_at(from);
    std::vector<Drawn> records;
    for (int64_t number = from; number < to; ++number)
      if (!branch(0).is_missing(number)) records.push_back({0, number, number});
    return records;
  }

  const std::shared_ptr<const StreamRun> run_;
};

std::shared_ptr<ReplayBranch> StreamRun::replayed(SampleLabels labels) {
  return std::make_shared<Replayed>(std::move(labels), shared_from_this());
}

std::shared_ptr<RunSamples> StreamRun::samples(std::vector<SampleLabels> labels) {
  return std::make_shared<NewRecords>(replayed(std::move(labels.front())), shared_from_this());
}

}  // namespace forebay
