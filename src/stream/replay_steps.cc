#include "stream/replay_steps.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace forebay {

namespace {

// Positions of rows that are in no epoch's order. They are above all positions in an order.
constexpr int64_t kReplayedPositions = int64_t{1} << 54;
// Occurrences of replayed samples. They differ from those in an order, and from replacements.
constexpr int32_t kReplayedOccurrences = 1 << 20;

// The occurrence of all replayed samples of the step at that place. It differs from step to step,
// so that a sample is augmented anew each time.
int32_t replayed_occurrence(const Cursor& at) {
  return kReplayedOccurrences + static_cast<int32_t>(at.step % kReplayedOccurrences);
}

std::vector<int64_t> ids_of(std::span<const ReplaySample> samples) {
  std::vector<int64_t> ids;
  for (const ReplaySample& one : samples) ids.push_back(one.id);
  return ids;
}

}  // namespace

ReplaySteps::ReplaySteps(std::shared_ptr<StepSource> steps, std::shared_ptr<StepSamples> samples,
                         const RehearsalOptions& options, int64_t replayed, int64_t rank,
                         std::shared_ptr<ReplayResults> results)
    : steps_(std::move(steps)), samples_(std::move(samples)), results_(std::move(results)), replayed_(replayed),
      rank_(rank), planned_buffer_(options), delivered_buffer_(options) {}

void ReplaySteps::pause() {
  const Lock lock(mutex_);
  paused_ = true;
}

void ReplaySteps::resume_with(Rehearsal buffer) {
  const Lock lock(mutex_);
  resume_locked(std::move(buffer));
}

void ReplaySteps::resume() {
  const Lock lock(mutex_);
  resume_locked(delivered_buffer_);
}

void ReplaySteps::resume_locked(Rehearsal buffer) {
  release_all_but(buffer);
  if (results_) results_->retain_only(buffer.all());
  paused_ = false;
  ++resumes_;
  for (const Planned& step : pending_) samples_->on_delivered(step.replayed);
  pending_.clear();
  held_up_.reset();
  failure_ = {};
  planned_buffer_ = buffer;
  delivered_buffer_ = std::move(buffer);
}

// Releases samples of the previous buffers that the new one lacks, and those that entered and left
// within the steps that are planned: no later step reports that they left.
void ReplaySteps::release_all_but(const Rehearsal& buffer) {
  std::set<int64_t> stay;
  for (const ReplaySample& one : buffer.all()) stay.insert(one.id);
  std::vector<int64_t> gone;
  const auto release = [&](int64_t id) {
    if (!stay.contains(id)) gone.push_back(id);
  };
  for (const int64_t id : ids_of(delivered_buffer_.all())) release(id);
  for (const Planned& step : pending_)
    for (const Rehearsal::Sample& one : step.fresh) release(one.id);
  samples_->release(gone);
}

void ReplaySteps::delivered(const Cursor& at) {
  const Lock lock(mutex_);
  // In the order of the plan: `delivered_buffer_` must take the same changes as `planned_buffer_`
  // did.
  while (!pending_.empty() && !(pending_.front().plan.at == at)) {
    const Planned step = std::move(pending_.front());
    pending_.pop_front();
    const Cursor& of = step.plan.at;
    samples_->on_delivered(step.replayed);
    const Rehearsal::Changes changes = delivered_buffer_.offer({of.epoch, of.step}, step.fresh);
    samples_->release(ids_of(changes.left));
    if (results_) results_->release(changes.left);
    if (step.plan.after == at) break;
  }
}

Rehearsal ReplaySteps::buffer() const {
  const Lock lock(mutex_);
  return delivered_buffer_;
}

Status ReplaySteps::failure() const {
  {
    const Lock lock(mutex_);
    FOREBAY_RETURN_IF_ERROR(failure_);
  }
  return steps_->failure();
}

std::optional<StepPlan> ReplaySteps::step(const Cursor& at) {
  const uint64_t resumes = resumes_;
  // Called without the lock, since it may wait for a stream's lock.
  std::optional<StepPlan> plan = steps_->step(at);
  if (!plan) return std::nullopt;
  const Lock lock(mutex_);
  // The run has moved to another place. This step must not be drawn from the buffer of that place,
  // nor be offered to it.
  if (paused_ || resumes != resumes_) return std::nullopt;
  const Planned* step = find_planned(plan->at);
  if (step == nullptr) step = plan_new_step(*std::move(plan));
  return step != nullptr ? plan_if_available(*step, at) : std::nullopt;
}

// Returns the step at that place if it is planned already; null otherwise. Such a step waits for
// replayed samples or is requested again, and must not draw and offer twice.
const ReplaySteps::Planned* ReplaySteps::find_planned(const Cursor& at) const {
  const auto step = std::ranges::find_if(pending_, [&](const Planned& one) { return one.plan.at == at; });
  return step == pending_.end() ? nullptr : &*step;
}

// Adds replayed samples to the next step, and offers its new samples to the buffer. Returns null
// after a failure. Otherwise the step is the last of `pending_`.
const ReplaySteps::Planned* ReplaySteps::plan_new_step(StepPlan plan) {
  if (!failure_.ok()) return nullptr;
  Result<std::vector<Rehearsal::Sample>> fresh = samples_->new_samples(plan);
  if (!fresh.ok()) {
    failure_ = fresh.status();
    return nullptr;
  }
  // Draws before the new samples are offered: replayed samples come from the steps before.
  std::vector<int64_t> replayed = add_replayed(plan);
  if (!plan.missing_rows.empty() && planned_buffer_.size() == 0) {
    failure_ = Status(Code::kStateMismatch,
                      "old samples stood in for records that had not come, and this run does not have them: give "
                      "rehearsal= with what was kept where the journal begins");
    return nullptr;
  }
  const Rehearsal::Changes changes = planned_buffer_.offer({plan.at.epoch, plan.at.step}, *fresh);
  // Requests them now, and not when the step is due, so that the trainer does not wait for another
  // rank.
  samples_->start_fetch(replayed);
  failure_ = samples_->retain(*fresh, ids_of(changes.entered));
  if (results_) results_->retain(changes.entered);
  return &pending_.emplace_back(Planned{std::move(plan), *std::move(fresh), std::move(replayed)});
}

// Returns the plan of a step that was requested at `at`, if its replayed samples are available.
// Otherwise the step is held up.
std::optional<StepPlan> ReplaySteps::plan_if_available(const Planned& step, const Cursor& at) {
  const Result<bool> available = samples_->all_available(step.replayed);
  if (!available.ok() && failure_.ok()) failure_ = available.status();
  if (!available.ok() || !*available) {
    held_up_ = HeldUp{at, step.plan.at};
    return std::nullopt;
  }
  // If an earlier step is requested again, the later one stays held up.
  if (held_up_ && held_up_->plan == step.plan.at) held_up_.reset();
  return step.plan;
}

bool ReplaySteps::is_held_up(const Cursor& at) {
  if (!held_up_ || !(held_up_->request == at)) return false;
  const Planned* const step = find_planned(held_up_->plan);
  return step != nullptr && !plan_if_available(*step, at);
}

bool ReplaySteps::request_step(const Cursor& at) {
  {
    const Lock lock(mutex_);
    // After a failure nothing is known. Otherwise a thread that plans ahead would try again until
    // the trainer takes the failure.
    if (paused_ || !failure_.ok() || is_held_up(at)) return false;
  }
  return steps_->request_step(at);
}

std::string ReplaySteps::awaited() const {
  const std::string replayed = samples_->awaited();
  return replayed.empty() ? steps_->awaited() : replayed;
}

bool ReplaySteps::decide_now(const Cursor& at) {
  {
    const Lock lock(mutex_);
    if (paused_ || planned_buffer_.size() == 0 || !failure_.ok()) return false;  // there is no replacement
  }
  return steps_->decide_now(at);
}

// Gives a row of the step at that place a replayed sample.
void ReplaySteps::replay(Row& row, const ReplaySample& sample, const Cursor& at) const {
  row.replayed = true;
  row.occurrence = replayed_occurrence(at);
  row.pass = sample.epoch;
  samples_->assign(sample.id, row);
}

// Adds replayed rows, and returns the ids of their samples. The first draws are those that each step
// has. The others replace missing records of this step.
std::vector<int64_t> ReplaySteps::add_replayed(StepPlan& plan) const {
  std::vector<ReplaySample> drawn = planned_buffer_.draw({plan.at.epoch, plan.at.step}, plan.missing_rows_of_all);
  std::vector<int64_t> ids;
  if (drawn.empty()) return ids;
  const auto added = static_cast<size_t>(planned_buffer_.options().draws);
  for (const MissingRow& one : plan.missing_rows) {
    const ReplaySample& sample = drawn[added + static_cast<size_t>(one.number)];
    replay(plan.rows[one.row], sample, plan.at);
    ids.push_back(sample.id);
  }
  // Replayed rows come before the padding, which repeats rows and stays last.
  const auto first_padding =
      std::find_if(plan.rows.begin(), plan.rows.end(), [](const Row& row) { return row.padding; });
  const auto replayed_at = static_cast<size_t>(first_padding - plan.rows.begin());
  // Samples are drawn for all ranks at once, so that no two ranks have the same, and the draws do
  // not depend on the number of ranks.
  const auto first = static_cast<size_t>(rank_ * replayed_);
  std::vector<Row> rows;
  for (size_t i = first; i < first + static_cast<size_t>(replayed_); ++i) {
    Row& row = rows.emplace_back();
    row.position = kReplayedPositions + plan.at.step * static_cast<int64_t>(added) + static_cast<int64_t>(i);
    replay(row, drawn[i], plan.at);
    ids.push_back(drawn[i].id);
  }
  plan.rows.insert(first_padding, rows.begin(), rows.end());
  // The row numbers so far do not count the replayed rows.
  for (MissingRow& one : plan.missing_rows) one.row += one.row >= replayed_at ? rows.size() : 0;
  return ids;
}

}  // namespace forebay
