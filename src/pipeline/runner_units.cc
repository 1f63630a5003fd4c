#include <algorithm>

#include <fmt/format.h>

#include "pipeline/runner.h"

namespace forebay {

namespace {

constexpr uint64_t kAheadPriority = uint64_t{1} << 62;  // behind every batch

}  // namespace

void Runner::free_units(UnitTable::Freed& freed) {
  for (const auto& unit : freed) drop_unit(*unit);
  freed.clear();
}

void Runner::drop_unit(Unit& unit) {
  if (unit.state == Unit::State::kDecoding) {  // gives its bytes back when the thread is done with it
    unit.given_up = true;
    return;
  }
  // Reads in flight keep their claim until the last has landed.
  if (unit.reads) {
    unit.reads->stale = unit.reads->awaited > 0;
    if (!unit.reads->stale) unit.reads->claim.give_back();
  }
  unit.row_claim.give_back();
  unit.looked_up = false;
  unit.store = nullptr;
  unit.stored.clear();
  unit.requests.clear();
  unit.reads.reset();
  unit.rows.reset();
  unit.memory = Buffer();
  unit.status = Status();
  unit.state = Unit::State::kAbsent;
}

// ---- who gets bytes, threads and requests

// False where the oldest task lacks bytes for its block: then nothing younger may take any.
bool Runner::pump_units(Actions& actions) {
  UnitTable::Freed freed;
  units_->close_before(planned_.epoch, planned_.position);
  units_->sweep(freed);
  free_units(freed);
  bool oldest = true;
  for (const JobPtr& job : window_) {
    if (job->retracting || job->complete || job->assembling || job->done == job->tasks.size()) continue;
    while (job->tasks[job->first].state == TaskState::kDone) ++job->first;
    const auto moves = [&](const UnitBlockPtr& block) {
      return block->users == 0 || block->ready() || pump_block(*block, job, priority(*job, 0), actions);
    };
    if (!moves(job->block_of(job->tasks[job->first]))) return !oldest;
    oldest = false;
    for (const UnitBlockPtr& block : job->blocks) {
      if (!moves(block)) return true;
    }
  }
  pump_ahead(actions);
  return true;
}

// Moves on every unit of a block that can be. False where bytes are lacking, so that nothing younger may take any.
bool Runner::pump_block(const UnitBlock& block, const JobPtr& job, uint64_t order, Actions& actions) {
  for (const auto& unit : block.units) {
    Step step = Step::kMoved;
    if (unit->state == Unit::State::kAbsent || unit->state == Unit::State::kFetching)
      step = start_unit(unit, job, block, actions);
    if (unit->state == Unit::State::kFetched) step = decode_unit(unit, job, block, order, actions);
    if (step == Step::kNoBytes) return false;
  }
  return true;
}

// The blocks that come next in the lanes of this rank, with what the batches of the window leave.
void Runner::pump_ahead(Actions& actions) {
  if (window_.empty()) return;
  const std::vector<UnitBlockPtr> blocks = window_.back()->blocks;
  for (const UnitBlockPtr& block : blocks) {
    if (block->users == 0) continue;  // all of its rows were in the cache
    const int64_t next = block->range.first + block->range.step * block->range.count;
    if (next >= itinerary_->order().size() && itinerary_->finished({block->epoch + 1, 0, 0})) continue;
    if (!pump_block(*units_->block_after(*block), nullptr, kAheadPriority, actions)) return;
  }
}

// Memory for packed rows, or for an entry of the cache: what a unit has left lying, or else new.
bool Runner::unit_memory(Unit& unit, uint64_t bytes, const JobPtr& job, const UnitBlock& block) {
  while (bytes > 0 && !unit.memory.owner()) {
    // What lies there in other sizes would lie there until somebody is in need.
    if (!job && !leaves_room(bytes) && !unit_pool_->has_idle(bytes) && !(unit_pool_->trim() && leaves_room(bytes)))
      return false;
    if (std::optional<BufferPool::Lent> lent = unit_pool_->acquire(bytes)) {
      unit.memory = std::move(lent->buffer);
      unit.row_claim = std::move(lent->claim);
    } else if (!job || !may_take_from_others(job, block) || !make_room(job, &job->tasks[job->first], bytes)) {
      return false;
    }
  }
  return true;
}

// For units that are not due: whether the batches of the window get what they need all the same.
bool Runner::leaves_room(uint64_t bytes) const {
  const ByteBudget::Snapshot now = budget_->snapshot();
  const uint64_t held = now.by_use[static_cast<size_t>(Use::kBatches)], reserve = options_.window_bytes;
  return now.used + bytes + (reserve > held ? reserve - held : 0) <= now.capacity;
}

// One unit always, or those that are larger than what is set aside would never be.
bool Runner::may_fetch_ahead(uint64_t bytes) const {
  const uint64_t fetched = budget_->snapshot().by_use[static_cast<size_t>(Use::kFetched)];
  return fetched == 0 || fetched + bytes <= options_.ahead_bytes;
}

bool Runner::may_take_from_others(const JobPtr& job, const UnitBlock& block) const {
  return job->block_of(job->tasks[job->first]).get() == &block;
}

std::optional<Claim> Runner::claim_for_unit(Use use, uint64_t bytes, const JobPtr& job, const UnitBlock& block) {
  if (!job) return leaves_room(bytes) ? Claim::take(budget_, use, bytes) : std::nullopt;
  std::optional<Claim> claim;
  while (!(claim = Claim::take(budget_, use, bytes))) {
    if (!may_take_from_others(job, block) || !make_room(job, &job->tasks[job->first], bytes)) return std::nullopt;
  }
  return claim;
}

Status Runner::units_never_fit(const JobPtr& job, const Task& task, uint64_t unit_bytes, uint64_t least) const {
  const UnitBlock& block = *job->block_of(task);
  uint64_t needed =
      options_.working_bytes_per_thread * static_cast<uint64_t>(options_.threads) + task.needs + unit_bytes;
  needed += plan_->batch_bytes(static_cast<int64_t>(job->batch.rows().size()));
  for (const auto& unit : block.units) needed += unit->claimed_bytes();
  needed = std::max(needed, least);
  return out_of_budget(fmt::format("the rows of {} row groups are mixed, which needs {} bytes of memory with one "
                                   "batch; the budget is {}: "
                                   "raise memory=, give .shuffle() a smaller block=, or write smaller row groups",
                                   block.units.size(), needed, budget_->capacity()),
                       needed)
      .with_key(plan_->units->source->unit_name(block.units.front()->number));
}

// Everything that can be read or decoded again, but for what `needed` holds and what compute threads look into. A unit with
// reads in flight gives nothing back before they end; one that waits for a request slot between two of them does.
bool Runner::drop_other_units(const UnitBlock* needed) {
  bool dropped = false;
  for (const auto& [number, unit] : units_->units()) {
    if (unit->pins > 0 || (needed != nullptr && needed->has(*unit))) continue;
    const bool waits = unit->state == Unit::State::kFetching && unit->reads->awaited == 0;
    if (!waits && unit->state != Unit::State::kFetched && unit->state != Unit::State::kReady) continue;
    drop_unit(*unit);
    dropped = true;
  }
  return dropped;
}

/// One of a unit's reads.
class Runner::UnitFlight final : public Flight {
 public:
  UnitFlight(std::shared_ptr<Runner> runner, std::shared_ptr<Unit> of, StoreLine& line)
      : Flight(line, of->requests[of->asked], Claim()), unit(std::move(of)), reads(unit->reads), piece(unit->asked),
        runner_(std::move(runner)), work_(runner_->at_work(*unit)) {}

  const std::shared_ptr<Unit> unit;
  const std::shared_ptr<Unit::Reads> reads;  // those it belongs to; the unit may have others by now
  const size_t piece;

 private:
  void landed(Result<Buffer> result) override { runner_->on_unit_read(*this, std::move(result)); }

  const std::shared_ptr<Runner> runner_;
  const std::unique_ptr<SharedUnits::Work> work_;  // ends when decoding has begun, or waits for its turn
};

// Asks for the unit's stored bytes.
Runner::Step Runner::start_unit(const std::shared_ptr<Unit>& unit, const JobPtr& job, const UnitBlock& block,
                                Actions& actions) {
  const UnitPlan& plan = *plan_->units;
  if (unit->state == Unit::State::kAbsent) {
    if (Step step; others_have(unit, job, block, &step)) return step;
    if (!job && !may_fetch_ahead(plan.source->unit_cost(unit->number).fetched_bytes)) return Step::kNoSlot;
    unit_work_.look_up(*unit);
    if (unit->rows && plan.caches_packed()) {
      unit->state = Unit::State::kReady;
      return Step::kMoved;
    }
    if (unit->requests.empty() || fetcher_.line(*unit->store).try_now()) {
      unit->read_later = !unit->requests.empty();
      unit->state = Unit::State::kFetched;
      return Step::kMoved;
    }
    if (!fetcher_.line(*unit->store).has_slot()) return Step::kNoSlot;
    std::optional<Claim> claim = claim_for_unit(Use::kFetched, bytes_of(unit->requests), job, block);
    if (!claim) return Step::kNoBytes;
    unit->reads = std::make_shared<Unit::Reads>(Unit::Reads{std::move(*claim)});
    unit->state = Unit::State::kFetching;
  }
  StoreLine& line = fetcher_.line(*unit->store);
  for (; unit->asked < unit->requests.size(); ++unit->asked) {
    if (!line.has_slot()) return Step::kNoSlot;
    actions.flights.push_back(std::make_shared<UnitFlight>(shared_from_this(), unit, line));
    fetcher_.begin(*actions.flights.back());
    ++unit->reads->awaited;
  }
  return Step::kMoved;
}

void Runner::on_unit_read(UnitFlight& flight, Result<Buffer> result) {
  Lock lock(mutex_);
  fetcher_.end(flight);
  Unit::Reads& reads = *flight.reads;
  --reads.awaited;
  if (reads.stale) {
    if (reads.awaited == 0) reads.claim.give_back();
  } else {
    const auto& unit = flight.unit;
    if (result.ok()) {
      plan_->fetch_counters->add(0, result->size(), result->size(), 0);
      unit->stored[flight.piece] = std::move(*result);
    } else if (unit->status.ok()) {
      unit->status = result.status();
      unit->asked = unit->requests.size();  // the rest is not asked for
    }
    if (reads.awaited == 0 && unit->asked == unit->requests.size()) {
      unit->state = Unit::State::kFetched;
      if (!unit->status.ok()) unit_failed(*unit, std::exchange(unit->status, Status()));
    }
  }
  run_actions(lock);
  if (closed_) delivered_.notify_all();
}

// With what is wrong with all of its rows. Storage that is away matters only to the batch that is due.
void Runner::unit_failed(Unit& unit, Status status) {
  bool due = false;
  for (const UnitBlockPtr& block : window_.empty() ? std::vector<UnitBlockPtr>() : window_.front()->blocks)
    due |=
        std::any_of(block->units.begin(), block->units.end(), [&](const auto& other) { return other.get() == &unit; });
  const bool again = status.code() == Code::kUnavailable && !due;
  drop_unit(unit);
  if (again) return;
  unit.status = std::move(status);
  unit.state = Unit::State::kBad;
}

Runner::Step Runner::decode_unit(const std::shared_ptr<Unit>& unit, const JobPtr& job, const UnitBlock& block,
                                 uint64_t order, Actions& actions) {
  if (Step step; others_have(unit, job, block, &step)) return step;
  if (decoding_ >= options_.threads) return Step::kNoSlot;
  const UnitNeeds needs = unit_work_.needs(*unit);
  if (!unit_memory(*unit, needs.together, job, block)) return Step::kNoBytes;
  std::optional<Claim> beside = claim_for_unit(Use::kUnits, needs.apart, job, block);
  std::optional<Claim> thread = beside ? claim_for_unit(Use::kWorking, needs.working, job, block) : std::nullopt;
  if (!thread) {
    unit->row_claim.give_back();
    unit->memory = Buffer();
    return Step::kNoBytes;
  }
  unit->row_claim.merge(std::move(*beside));
  unit->working = std::move(*thread);
  unit->state = Unit::State::kDecoding;
  ++decoding_;
  ++queued_;
  // It lasts until the task is gone, which is behind the lock.
  const std::shared_ptr<SharedUnits::Work> work = at_work(*unit);
  actions.posts.push_back([self = shared_from_this(), unit, order, work] {
    self->queue_->post(order, [self, unit, work](WorkMemory& memory) { self->work_on_unit(unit, memory); });
  });
  return Step::kMoved;
}

// ---- what compute threads do

void Runner::work_on_unit(const std::shared_ptr<Unit>& unit, WorkMemory& memory) {
  Lock lock(mutex_);
  const bool wanted = !closed_ && !unit->given_up;
  const uint64_t granted = unit->working.bytes();
  lock.unlock();
  UnitWork::Made made{cancelled("not wanted any more")};
  if (wanted) {
    memory.begin_task(options_.working_bytes_per_thread + granted, options_.working_bytes_per_thread);
    made = unit_work_.make(*unit, memory);
  }
  lock.lock();
  --queued_;
  --decoding_;
  unit->working.give_back();
  after_decoding(*unit, std::move(made.rows), made.cold);
  run_actions(lock);
  if (closed_) delivered_.notify_all();
}

void Runner::after_decoding(Unit& unit, Result<std::shared_ptr<const Columns>> made, bool cold) {
  const bool wanted = !std::exchange(unit.given_up, false) && !closed_;
  if (unit.read_later) fetcher_.line(*unit.store).found(cold);
  unit.state = Unit::State::kReady;
  if (unit.reads) unit.reads->claim.give_back();
  if (!made.ok() || !wanted) {
    const Status status = made.status();
    const bool damaged_entry = unit.cached && status.code() == Code::kCorrupt;
    const bool lacks_memory = status.code() == Code::kOutOfBudget && unit.needs < needs_beyond_thread(status);
    drop_unit(unit);
    unit.needs = lacks_memory ? needs_beyond_thread(status) : 0;
    if (made.ok() || !wanted || cold || damaged_entry || lacks_memory) return;
    unit.status = status;
    unit.state = Unit::State::kBad;
    return;
  }
  if (!unit.cached) ++decoded_[static_cast<size_t>(unit.number)];
  const uint64_t bytes = held_bytes(**made, unit.memory);
  unit.memory = Buffer();
  if (bytes > unit.row_claim.bytes()) {
    unit.row_claim.merge(Claim::of_existing(budget_, Use::kUnits, bytes - unit.row_claim.bytes()));
  } else {
    unit.row_claim.shrink_to(bytes);
  }
  unit.stored.clear();
  unit.requests.clear();
  unit.reads.reset();
  unit.needs = 0;
  unit.rows = std::move(*made);
  if (unit.identity) shared_units_->offer(*unit.identity, unit.rows);
}

uint64_t Runner::needs_beyond_thread(const Status& status) const {
  const uint64_t own = options_.working_bytes_per_thread;
  return status.bytes_needed() > own ? status.bytes_needed() - own : 0;
}

}  // namespace forebay
