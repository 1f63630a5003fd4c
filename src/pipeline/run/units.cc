#include "pipeline/run/units.h"

#include <algorithm>
#include <utility>

#include "pipeline/run/run_trace.h"
#include "pipeline/run/units_read.h"

// Who gets bytes, threads and requests for a unit; units_work.cc: what comes back.

namespace forebay {

namespace {

std::vector<int64_t> begins_of(const UnitSource& source) {
  std::vector<int64_t> begins;
  for (int64_t unit = 0; unit <= source.units(); ++unit) begins.push_back(source.unit_begin(unit));
  return begins;
}

}  // namespace

Units::Units(RunCore& core, std::shared_ptr<SharedUnits> shared, std::function<bool(const Unit&)> is_due)
    : core_(core), plan_(*core.plan->units), unit_work_(core.plan), shared_(std::move(shared)),
      is_due_(std::move(is_due)), table_(core.itinerary->order(), begins_of(*plan_.source)),
      decoded_(static_cast<size_t>(plan_.source->units())) {}

bool Units::move_on(const UnitBlock& block, const Asker& asker, Actions& actions) {
  for (const auto& unit : block.units) {
    Step step = Step::kMoved;
    if (unit->state == Unit::State::kAbsent || unit->state == Unit::State::kFetching)
      step = start(unit, asker, actions);
    if (unit->state == Unit::State::kFetched) step = decode(unit, asker, actions);
    if (step == Step::kNoBytes) return false;
  }
  return true;
}

void Units::close_before(const Cursor& place) {
  UnitTable::Freed freed;
  table_.close_before(place.epoch, place.position);
  table_.sweep(freed);
  drop_freed(freed);
}

void Units::remove_user(const UnitBlockPtr& block) {
  UnitTable::Freed freed;
  table_.remove_user(block, freed);
  drop_freed(freed);
}

void Units::clear() {
  UnitTable::Freed freed;
  table_.clear(freed);
  drop_freed(freed);
}

// A unit with reads in flight gives nothing back before they end; one that waits for a request slot between two of them does.
void Units::drop_others(const UnitBlock* needed) {
  for (const auto& [number, unit] : table_.units()) {
    if (unit->pins > 0 || (needed != nullptr && needed->has(*unit))) continue;
    const bool waits = unit->state == Unit::State::kFetching && unit->reads->awaited == 0;
    if (waits || unit->state == Unit::State::kFetched || unit->state == Unit::State::kReady) drop(*unit);
  }
}

bool Units::forget_weather(const std::vector<UnitBlockPtr>& blocks) {
  std::vector<Unit*> away;
  for (const UnitBlockPtr& block : blocks)
    for (const auto& unit : block->units)
      if (unit->state == Unit::State::kBad && unit->status.code() == Code::kUnavailable) away.push_back(unit.get());
  // All at once: those that were read again sooner would be asked for again and again until the last is free.
  if (std::ranges::any_of(away, [](const Unit* unit) { return unit->lookers > 0; })) return false;
  // They have no rows, so that whoever only pins one, with rows of others of its block, holds nothing of it. Twice is once.
  for (Unit* unit : away)
    if (unit->state == Unit::State::kBad) drop(*unit);
  return true;
}

void Units::drop_freed(const UnitTable::Freed& freed) const {
  for (const auto& unit : freed) drop(*unit);
}

void Units::drop(Unit& unit) const {
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

const Unit& Units::first_missing(const UnitBlock& block) {
  return **std::find_if(block.units.begin(), block.units.end(), [](const auto& one) { return !one->ready(); });
}

Awaited Units::what_is_awaited(const UnitBlock& block) {
  const Unit& unit = first_missing(block);
  if (unit.awaits) return Awaited::kCompute;  // of another run
  const bool no_slot = unit.store != nullptr && !core_.fetcher.line(*unit.store).has_slot();
  switch (unit.state) {
    case Unit::State::kFetching: return unit.reads->awaited == 0 && no_slot ? Awaited::kSlot : Awaited::kStorage;
    case Unit::State::kFetched: return decoding_ >= core_.tuning.threads() ? Awaited::kThread : Awaited::kMemory;
    case Unit::State::kDecoding: return unit.begun ? Awaited::kCompute : Awaited::kThread;
    default: return no_slot ? Awaited::kSlot : Awaited::kMemory;
  }
}

std::string Units::name_of_missing(const UnitBlock& block) const {
  return plan_.source->unit_name(first_missing(block).number);
}

// Asks for the unit's stored bytes.
Step Units::start(const std::shared_ptr<Unit>& unit, const Asker& asker, Actions& actions) {
  if (unit->state == Unit::State::kAbsent) {
    if (const std::optional<Step> step = others_have(unit, asker)) return *step;
    const Step step = begin_fetching(*unit, asker);
    if (unit->state != Unit::State::kFetching) return step;
  }
  StoreLine& line = core_.fetcher.line(*unit->store);
  for (; unit->asked < unit->requests.size(); ++unit->asked) {
    if (!line.has_slot()) return Step::kNoSlot;
    actions.flights.push_back(std::make_shared<Read>(*this, unit, line));
    core_.fetcher.begin(*actions.flights.back());
    ++unit->reads->awaited;
  }
  return Step::kMoved;
}

// It is Fetching where reads have to be sent; Fetched or Ready where that takes none.
Step Units::begin_fetching(Unit& unit, const Asker& asker) {
  // One unit always, or those that are larger than what is set aside would never be.
  const uint64_t stored = plan_.source->unit_cost(unit.number).fetched_bytes;
  // As if no slot were free, and not as if bytes were lacking: others of the block that are fetched may go on.
  if (asker.ahead && core_.memory.has_fetched() && !core_.memory.may_fetch_ahead(stored)) return Step::kNoSlot;
  unit_work_.look_up(unit);
  if (unit.rows && plan_.caches_packed()) {
    unit.state = Unit::State::kReady;
    return Step::kMoved;
  }
  if (unit.requests.empty() || core_.fetcher.line(*unit.store).try_now()) {
    unit.read_later = !unit.requests.empty();
    unit.state = Unit::State::kFetched;
    return Step::kMoved;
  }
  if (!core_.fetcher.line(*unit.store).has_slot()) return Step::kNoSlot;
  std::optional<Claim> bytes = claim(Use::kFetched, bytes_of(unit.requests), asker);
  if (!bytes) return Step::kNoBytes;
  unit.reads = std::make_shared<Unit::Reads>(Unit::Reads{std::move(*bytes)});
  unit.state = Unit::State::kFetching;
  return Step::kMoved;
}

Step Units::decode(const std::shared_ptr<Unit>& unit, const Asker& asker, Actions& actions) {
  if (const std::optional<Step> step = others_have(unit, asker)) return *step;
  if (decoding_ >= core_.tuning.threads()) return Step::kNoSlot;
  const UnitNeeds needs = unit_work_.needs(*unit);
  if (!get_memory(*unit, needs.together, asker)) return Step::kNoBytes;
  std::optional<Claim> beside = claim(Use::kUnits, needs.apart, asker);
  std::optional<Claim> thread = beside ? claim(Use::kWorking, needs.working, asker) : std::nullopt;
  if (!thread) {
    unit->row_claim.give_back();
    // The claim went first, so that the pool has room for what comes back now.
    unit->memory = Buffer();
    return Step::kNoBytes;
  }
  unit->row_claim.merge(std::move(*beside));
  unit->working = std::move(*thread);
  unit->state = Unit::State::kDecoding;
  ++decoding_;
  // Being at work lasts until the task is gone, which is behind the lock.
  core_.post(actions, asker.order, Work::kUnits, about_unit(static_cast<size_t>(unit->number)),
             [this, unit, at_work = std::shared_ptr(at_work(*unit))](WorkMemory& memory) { work(unit, memory); });
  return Step::kMoved;
}

// For a unit that is to be fetched or decoded. Nothing where that is for this run to do; else what became of it.
std::optional<Step> Units::others_have(const std::shared_ptr<Unit>& unit, const Asker& asker) {
  if (unit->awaits) return Step::kMoved;
  if (!std::exchange(unit->identified, true)) unit->identity = plan_.identity(unit->number);
  if (!unit->identity) return std::nullopt;
  if (SharedUnits::Rows rows = shared_->find(*unit->identity)) {
    // Each of those who hold them pays for them: whoever does so longest has them then.
    std::optional<Claim> bytes = claim(Use::kUnits, held_bytes(*rows, Buffer()), asker);
    if (!bytes) return Step::kNoBytes;
    // What this run has begun of it is not needed any more; reads in flight land stale.
    drop(*unit);
    unit->row_claim = std::move(*bytes);
    unit->rows = std::move(rows);
    unit->state = Unit::State::kReady;
    return Step::kMoved;
  }
  // Whoever tells does so on a thread of the other run; what follows is done on one that is ours.
  unit->awaits = shared_->wait(*unit->identity, [this, weak = core_.weakly_alive(), unit] {
    const std::shared_ptr<void> alive = weak.lock();
    if (!alive) return;
    const RunCore::Lock lock(core_.mutex);
    unit->awaits = false;
    if (!core_.closed) core_.act_on_a_thread();
  });
  return unit->awaits ? std::optional(Step::kMoved) : std::nullopt;
}

std::unique_ptr<SharedUnits::Work> Units::at_work(const Unit& unit) const {
  return unit.identity ? shared_->begin(*unit.identity) : nullptr;
}

std::optional<Claim> Units::claim(Use use, uint64_t bytes, const Asker& asker) const {
  if (asker.ahead) return core_.memory.leaves_room(bytes) ? core_.memory.take(use, bytes) : std::nullopt;
  std::optional<Claim> taken;
  while (!(taken = core_.memory.take(use, bytes))) {
    if (asker.others == nullptr || !asker.others->make_room(bytes)) return std::nullopt;
  }
  return taken;
}

// Memory for packed rows, or for an entry of the cache: what a unit has left lying, or else new.
bool Units::get_memory(Unit& unit, uint64_t bytes, const Asker& asker) const {
  BufferPool& pool = core_.memory.units();
  while (bytes > 0 && !unit.memory.owner()) {
    // What lies there in other sizes would lie there until somebody is in need.
    if (asker.ahead && !core_.memory.leaves_room(bytes) && !pool.has_idle(bytes) &&
        !(pool.trim() && core_.memory.leaves_room(bytes)))
      return false;
    if (std::optional<BufferPool::Lent> lent = pool.acquire(bytes)) {
      unit.memory = std::move(lent->buffer);
      unit.row_claim = std::move(lent->claim);
    } else if (asker.others == nullptr || !asker.others->make_room(bytes)) {
      return false;
    }
  }
  return true;
}

}  // namespace forebay
