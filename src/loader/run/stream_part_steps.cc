#include "loader/run/stream_part_steps.h"

#include <algorithm>

#include "loader/samples/plan_changes.h"
#include "plan/equal_batches.h"

namespace forebay {

namespace {

constexpr int kStepsFetchedAhead = 8;  // how many steps ahead records of other ranks are fetched

// The end of the step at `at`, as the plan has it.
Cursor planned_end(const IndexedItinerary& plan, const Cursor& at) {
  return {at.epoch, plan.schedule().next_position({at.epoch, at.position}), at.step + 1};
}

}  // namespace

void StreamPartSteps::begin_again() {
  const Lock lock(mutex_);
  ++beginnings_;
  fetched_.assign(parts_.size(), {});
}

// The records of the step at `at` over all ranks; some may lie behind the end of the stream.
StreamPartSteps::Records StreamPartSteps::records_of(const Part& part, const IndexedItinerary& plan,
                                                     const Cursor& at) const {
  return {number_at(part, plan, at), number_at(part, plan, planned_end(plan, at))};
}

// The number of positions in the step at `at`, which begins a step of the plan. 0: there is no such
// step, because a stream has ended.
int64_t StreamPartSteps::size_at(const IndexedItinerary& plan, const Cursor& at) const {
  const int64_t whole = planned_end(plan, at).position - at.position;
  int64_t left = whole;
  for (const Part& part : parts_) {
    const std::optional<int64_t> end = part.stream->end();
    if (!end) continue;
    const Order::Use ended = plan.plan().position_of(part.leaf, {0, *end - part.numbers->number_at({})});
    if (ended.epoch > at.epoch) continue;
    left = ended.epoch < at.epoch ? 0 : std::clamp<int64_t>(ended.position - at.position, 0, left);
  }
  return left < whole && batches_.last == LastPolicy::kDrop ? 0 : left;
}

std::optional<int64_t> StreamPartSteps::batches(const Cursor& at) const {
  const std::shared_ptr<const IndexedItinerary> plan = plan_->steps();
  const bool is_endless = std::ranges::any_of(
      parts_, [&](const Part& part) { return plan->plan().size() >= plan->plan().order(part.leaf).size(); });
  return is_endless ? std::nullopt : plan->batches(at);
}

bool StreamPartSteps::finished(const Cursor& at) const { return finished(*plan_->steps(), at); }

bool StreamPartSteps::finished(const IndexedItinerary& plan, const Cursor& at) const {
  if (plan.finished(at)) return true;
  const bool has_end = std::ranges::any_of(parts_, [](const Part& part) { return part.stream->end().has_value(); });
  return has_end && size_at(plan, plan.normalized(at)) == 0;
}

Status StreamPartSteps::failure() const {
  for (const Part& part : parts_) FOREBAY_RETURN_IF_ERROR(part.numbers->failure());
  return {};
}

// Records of several streams may be awaited at once.
std::string StreamPartSteps::awaited() const {
  const std::shared_ptr<const IndexedItinerary> plan = plan_->steps();
  Cursor at;
  {
    const Lock lock(mutex_);
    at = plan->normalized(awaited_);
  }
  std::string all;
  for (const Part& part : parts_) {
    const bool awaits_ranks = part.remote && !part.remote->awaited().empty();
    if (!awaits_ranks && !is_late(part, records_of(part, *plan, at))) continue;
    const std::string one = part.numbers->awaited();
    all += all.empty() ? one : "; " + one;
  }
  return all;
}

// Returns true if records of a stream for a step are not decided yet.
bool StreamPartSteps::is_late(const Part& part, const Records& records) {
  return records.first < records.end && part.stream->decided() < records.end && !part.stream->end();
}

void StreamPartSteps::set_awaited(const Cursor& at) {
  const std::shared_ptr<const IndexedItinerary> plan = plan_->steps();
  if (finished(*plan, at)) return;
  {
    const Lock lock(mutex_);
    awaited_ = at;
  }
  for (const Part& part : parts_) part.stream->set_awaited(records_of(part, *plan, plan->normalized(at)).end);
}

bool StreamPartSteps::decide_now(const Cursor& requested) {
  const std::shared_ptr<const IndexedItinerary> plan = plan_->steps();
  if (finished(*plan, requested)) return false;
  const Cursor at = plan->normalized(requested);
  bool all = true;
  std::vector<std::pair<const Part*, int64_t>> late;
  for (const Part& part : parts_) {
    const Records records = records_of(part, *plan, at);
    if (!is_late(part, records)) continue;
    all &= part.stream->options().on_underrun != OnUnderrun::kWait;
    late.emplace_back(&part, records.end);
  }
  // Nothing is gained by a decision without records while the step waits for another stream.
  if (!all) return false;
  for (const auto& [part, end] : late) all &= part->stream->decide_now(end);
  return all;
}

bool StreamPartSteps::request_step(const Cursor& requested) {
  const uint64_t beginnings = beginnings_;  // before the plan is read
  if (!plan_->request_step(requested)) return false;
  const std::shared_ptr<const IndexedItinerary> plan = plan_->steps();
  if (plan->finished(requested)) return true;
  const Cursor at = plan->normalized(requested);
  bool all = true;
  // Records of all streams are requested at once, so that they arrive side by side.
  for (const Part& part : parts_) all &= request_records(part, *plan, at, beginnings);
  return all;
}

// Requests the records of a stream in the step at `at`. Returns whether they are here.
bool StreamPartSteps::request_records(const Part& part, const IndexedItinerary& plan, const Cursor& at,
                                      uint64_t beginnings) {
  const Records records = records_of(part, plan, at);
  // A stream is not read before a step needs it: the weight of its part may be 0.
  if (records.first == records.end) return true;
  if (!part.stream->request(records.end)) return false;
  if (!part.remote) return true;
  fetch_ahead(part, plan, at, beginnings);
  return part.remote->all_available(own_numbers(part, plan, at));
}

// Fetches this rank's records of the next decided steps, too, so that these need no request each.
void StreamPartSteps::fetch_ahead(const Part& part, const IndexedItinerary& plan, Cursor at, uint64_t beginnings) {
  const int64_t decided = part.stream->decided();
  std::vector<int64_t> numbers;
  {
    const Lock lock(mutex_);
    // The run has begun again since: `fetched_` is about its steps, and not about this one.
    if (beginnings != beginnings_) return;
    Cursor& fetched = fetched_[static_cast<size_t>(&part - parts_.data())];
    for (int step = 0; step < kStepsFetchedAhead && !finished(plan, at); ++step) {
      const bool cut = size_at(plan, at) < planned_end(plan, at).position - at.position;
      if (!cut && records_of(part, plan, at).end > decided) break;
      const Cursor next = plan.normalized(planned_end(plan, at));
      if (!is_before(at, fetched)) {
        const std::vector<int64_t> own = own_numbers(part, plan, at);
        numbers.insert(numbers.end(), own.begin(), own.end());
        fetched = next;
      }
      at = next;
    }
  }
  part.remote->start_fetch(numbers);
}

// The numbers of this rank's records of a stream in the step at `at`.
std::vector<int64_t> StreamPartSteps::own_numbers(const Part& part, const IndexedItinerary& plan,
                                                  const Cursor& at) const {
  std::vector<int64_t> numbers;
  const std::optional<StepPlan> step = planned(plan, at);
  if (!step) return numbers;
  for (const Row& row : step->rows)
    if (row.branch == part.leaf) numbers.push_back(row.id);
  return numbers;
}

std::optional<StepPlan> StreamPartSteps::step(const Cursor& at) {
  // request_step() comes first: by then the end of a stream is known if it is near.
  if (finished(at) || !request_step(at)) return std::nullopt;
  return planned(*plan_->steps(), at);
}

// The step at a place whose records are decided.
std::optional<StepPlan> StreamPartSteps::planned(const IndexedItinerary& plan, const Cursor& requested) const {
  std::optional<StepPlan> step = plan.planned(requested);
  if (!step) return std::nullopt;
  const Cursor at = step->at;
  const int64_t size = size_at(plan, at);
  if (size == 0) return std::nullopt;
  if (size < batches_.batch_size * batches_.world_size) {
    // The few samples before the end of a stream are assigned to ranks like the last ones of an
    // epoch. Both repeat samples of the same step: the records of earlier ones are released.
    const EqualBatches last({size, batches_.batch_size, batches_.world_size, batches_.last});
    last.rows({at.epoch, 0}, rank_, &step->rows);
    for (Row& row : step->rows) row.position += at.position;
    plan.locate(at.epoch, step->rows);
    step->after = plan.normalized({at.epoch, at.position + size, at.step + 1});
  }
  for (const Part& part : parts_)
    for (Row& row : step->rows)
      if (row.branch == part.leaf) row.id = part.numbers->number_at({0, row.place, 0});
  for (const Part& part : parts_)
    add_missing_rows(part.stream->missing(number_at(part, plan, step->at), number_at(part, plan, step->after)),
                     part.leaf, *step);
  return step;
}

}  // namespace forebay
