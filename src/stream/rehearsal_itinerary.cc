#include "stream/rehearsal_itinerary.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace forebay {

namespace {

// Positions of rows that are in no epoch's order. They are above all positions in an order.
constexpr int64_t kOldPositions = int64_t{1} << 54;
// Occurrences of replayed samples. They differ from those in an order, and from replacements.
constexpr int32_t kOldOccurrences = 1 << 20;

std::vector<int64_t> ids_of_kept(std::span<const ReplaySample> samples) {
  std::vector<int64_t> ids;
  for (const ReplaySample& one : samples) ids.push_back(one.id);
  return ids;
}

}  // namespace

RehearsalItinerary::RehearsalItinerary(std::shared_ptr<StepSource> steps, std::shared_ptr<StepSamples> samples,
                                       const RehearsalOptions& options, int64_t replayed, int64_t rank,
                                       std::shared_ptr<ReplayResults> results)
    : steps_(std::move(steps)), samples_(std::move(samples)), results_(std::move(results)), replayed_(replayed),
      rank_(rank), planned_(options), kept_(options) {}

void RehearsalItinerary::pause() {
  const Lock lock(mutex_);
  paused_ = true;
}

void RehearsalItinerary::begin_with(Rehearsal kept) {
  const Lock lock(mutex_);
  begin_locked(std::move(kept));
}

void RehearsalItinerary::begin_elsewhere() {
  const Lock lock(mutex_);
  begin_locked(kept_);
}

void RehearsalItinerary::begin_locked(Rehearsal kept) {
  let_go_of_others(kept);
  if (results_) results_->hold_only(kept.all());
  paused_ = false;
  ++begun_;
  pending_.clear();
  held_up_.reset();
  failure_ = {};
  planned_ = kept;
  kept_ = std::move(kept);
}

// Releases samples of the previous buffers that the new one lacks: no later step reports that they
// left.
void RehearsalItinerary::let_go_of_others(const Rehearsal& kept) {
  std::set<int64_t> stay;
  for (const ReplaySample& one : kept.all()) stay.insert(one.id);
  std::vector<int64_t> gone;
  for (const Rehearsal* before : {&kept_, &planned_}) {
    std::ranges::copy_if(ids_of_kept(before->all()), std::back_inserter(gone),
                         [&](int64_t id) { return !stay.contains(id); });
  }
  samples_->let_go(gone);
}

void RehearsalItinerary::delivered(const Cursor& at) {
  const Lock lock(mutex_);
  // In the order of the plan: `kept_` must take the same changes as `planned_` did.
  while (!pending_.empty() && !(pending_.front().plan.at == at)) {
    const Planned step = std::move(pending_.front());
    pending_.pop_front();
    const Cursor& of = step.plan.at;
    samples_->give_back(step.replayed);
    const Rehearsal::Changes changes = kept_.offer({of.epoch, of.step}, step.fresh);
    samples_->let_go(ids_of_kept(changes.left));
    if (results_) results_->let_go(changes.left);
    if (step.plan.after == at) break;
  }
}

Rehearsal RehearsalItinerary::kept() const {
  const Lock lock(mutex_);
  return kept_;
}

Status RehearsalItinerary::failure() const {
  {
    const Lock lock(mutex_);
    FOREBAY_RETURN_IF_ERROR(failure_);
  }
  return steps_->failure();
}

std::optional<StepPlan> RehearsalItinerary::step(const Cursor& at) {
  const uint64_t begun = begun_;
  // Called without the lock, since it may wait for a stream's lock.
  std::optional<StepPlan> plan = steps_->step(at);
  if (!plan) return std::nullopt;
  const Lock lock(mutex_);
  // The run leaves this place. The step would be drawn from the buffer of the new place, and
  // offered to it.
  if (paused_ || begun != begun_) return std::nullopt;
  // The step is planned already. It waits for replayed samples or is requested again, and must not
  // draw and offer twice.
  for (const Planned& pending : pending_) {
    if (pending.plan.at == plan->at) return once_here(pending);
  }
  if (!failure_.ok()) return std::nullopt;
  Result<std::vector<Rehearsal::Sample>> fresh = samples_->of(*plan);
  if (!fresh.ok()) {
    failure_ = fresh.status();
    return std::nullopt;
  }
  // Draws before the new samples are offered: replayed samples come from the steps before.
  add_replayed(*plan);
  if (!plan->vacant.empty() && planned_.size() == 0) {
    failure_ = Status(Code::kStateMismatch,
                      "old samples stood in for records that had not come, and this run does not have them: give "
                      "rehearsal= with what was kept where the journal begins");
    return std::nullopt;
  }
  const Rehearsal::Changes changes = planned_.offer({plan->at.epoch, plan->at.step}, *fresh);
  std::vector<int64_t> old = ids_of_kept(plan->replayed);
  for (const VacantRow& one : plan->vacant) old.push_back(one.sample.id);
  // Requests them now, and not when the step is due, so that the trainer does not wait for another
  // rank.
  samples_->bring(old);
  failure_ = samples_->keep(*plan, ids_of_kept(changes.entered));
  if (results_) results_->hold(changes.entered);
  pending_.push_back({std::move(*plan), std::move(*fresh), std::move(old)});
  held_up_ = at;
  return once_here(pending_.back());
}

// Returns the step if its replayed samples are here.
std::optional<StepPlan> RehearsalItinerary::once_here(const Planned& step) {
  const Result<bool> here = samples_->here(step.replayed);
  if (!here.ok() && failure_.ok()) failure_ = here.status();
  if (!here.ok() || !*here) return std::nullopt;
  held_up_.reset();
  return step.plan;
}

bool RehearsalItinerary::known(const Cursor& at) {
  {
    const Lock lock(mutex_);
    // After a failure nothing is known. Otherwise a thread that plans ahead would try again until
    // the trainer takes the failure.
    if (paused_ || !failure_.ok() || (held_up_ == at && !once_here(pending_.back()))) return false;
  }
  return steps_->known(at);
}

std::string RehearsalItinerary::awaited() const {
  const std::string old = samples_->awaited();
  return old.empty() ? steps_->awaited() : old;
}

bool RehearsalItinerary::hurry(const Cursor& at) {
  {
    const Lock lock(mutex_);
    if (paused_ || planned_.size() == 0 || !failure_.ok()) return false;  // there is no replacement
  }
  return steps_->hurry(at);
}

// The first draws are the replayed samples that each step has. The others replace missing records
// of this step.
void RehearsalItinerary::add_replayed(StepPlan& plan) const {
  std::vector<ReplaySample> drawn = planned_.draw({plan.at.epoch, plan.at.step}, plan.vacant_of_all);
  if (drawn.empty()) return;
  const std::span<const ReplaySample> all(drawn);
  fill_vacant(plan, all.subspan(static_cast<size_t>(planned_.options().draws)));
  drawn.resize(static_cast<size_t>(planned_.options().draws));
  // Replayed rows come before the padding, which repeats rows and stays last.
  const auto filled = std::find_if(plan.rows.begin(), plan.rows.end(), [](const Row& row) { return row.padding; });
  plan.replayed_at = static_cast<size_t>(filled - plan.rows.begin());
  // Samples are drawn for all ranks at once, so that no two ranks have the same, and the draws do
  // not depend on the number of ranks.
  const auto first = static_cast<size_t>(rank_ * replayed_);
  std::vector<Row> rows;
  for (size_t i = first; i < first + static_cast<size_t>(replayed_); ++i) {
    plan.replayed.push_back(drawn[i]);
    const int64_t position =
        kOldPositions + plan.at.step * static_cast<int64_t>(drawn.size()) + static_cast<int64_t>(i);
    rows.push_back({position, kOldOccurrences + static_cast<int32_t>(plan.at.step % kOldOccurrences), false});
  }
  plan.rows.insert(filled, rows.begin(), rows.end());
  // The row numbers so far do not count the replayed rows.
  for (VacantRow& one : plan.vacant) one.row += one.row >= plan.replayed_at ? plan.replayed.size() : 0;
}

void RehearsalItinerary::fill_vacant(StepPlan& plan, std::span<const ReplaySample> drawn) const {
  for (VacantRow& one : plan.vacant) {
    one.sample = drawn[static_cast<size_t>(one.number)];
    plan.rows[one.row].occurrence = kOldOccurrences + static_cast<int32_t>(plan.at.step % kOldOccurrences);
  }
}

std::vector<int64_t> RehearsalItinerary::indices(const StepPlan& step) const {
  if (step.replayed.empty()) return steps_->indices(step);
  // `steps_` does not know the replayed rows, whose positions are in no order.
  StepPlan fresh = step;
  const auto begin = fresh.rows.begin() + static_cast<std::ptrdiff_t>(step.replayed_at);
  fresh.rows.erase(begin, begin + static_cast<std::ptrdiff_t>(step.replayed.size()));
  std::vector<int64_t> indices = steps_->indices(fresh);
  indices.insert(indices.begin() + static_cast<std::ptrdiff_t>(step.replayed_at), step.replayed.size(), 0);
  return indices;
}

int64_t RehearsalItinerary::index(const StepPlan& step, int64_t row) const {
  return step.is_replayed(row) ? 0 : steps_->index(step, row);
}

}  // namespace forebay
