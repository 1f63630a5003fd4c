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
      is_due_(std::move(is_due)), table_(core.steps->order(), begins_of(*plan_.source)),
      decoded_(static_cast<size_t>(plan_.source->units())) {}

bool Units::move_on(const UnitBlock& block, const Asker& asker, Actions& actions) {
  for (const auto& unit : block.units) {
    Step step = Step::kMoved;
    if (unit->is<Unit::Waiting>() || unit->is<Unit::Reading>()) step = start(unit, asker, actions);
    if (unit->is<Unit::Read>()) step = decode(unit, asker, actions);
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
    const auto* const reading = std::get_if<Unit::Reading>(&unit->at);
    const bool waits = reading != nullptr && reading->awaited == 0;
    if (waits || unit->is<Unit::Read>() || unit->is<Unit::Ready>()) drop(*unit);
  }
}

bool Units::forget_transient_errors(const std::vector<UnitBlockPtr>& blocks) {
  std::vector<Unit*> away;
  for (const UnitBlockPtr& block : blocks)
    for (const auto& unit : block->units)
      if (unit->status().code() == Code::kUnavailable) away.push_back(unit.get());
  // All at once: those that were read again sooner would be asked for again and again until the last is free.
  if (std::ranges::any_of(away, [](const Unit* unit) { return unit->lookers > 0; })) return false;
  // They have no rows, so that whoever only pins one, with rows of others of its block, holds nothing of it. Twice is once.
  for (Unit* unit : away)
    if (unit->is<Unit::Failed>()) drop(*unit);
  return true;
}

void Units::drop_freed(const UnitTable::Freed& freed) {
  for (const auto& unit : freed) drop(*unit);
}

void Units::drop(Unit& unit) {
  if (auto* running = std::get_if<Unit::Running>(&unit.at))
    running->given_up = true;  // gives its bytes back when the thread is done with it
  else
    unit.at = Unit::Waiting{};
}

const Unit& Units::first_missing(const UnitBlock& block) {
  return **std::find_if(block.units.begin(), block.units.end(), [](const auto& one) { return !one->ended(); });
}

Awaited Units::what_is_awaited(const UnitBlock& block) {
  const Unit& unit = first_missing(block);
  if (unit.awaits) return Awaited::kCompute;  // of another run
  if (const auto* reading = std::get_if<Unit::Reading>(&unit.at))
    return reading->awaited == 0 && !has_slot(reading->place) ? Awaited::kSlot : Awaited::kStorage;
  if (unit.is<Unit::Read>()) return decoding_ >= core_.tuning.threads() ? Awaited::kThread : Awaited::kMemory;
  if (const auto* running = std::get_if<Unit::Running>(&unit.at))
    return running->begun ? Awaited::kCompute : Awaited::kThread;
  const std::optional<UnitPlace>& place = std::get<Unit::Waiting>(unit.at).place;
  return place && !has_slot(*place) ? Awaited::kSlot : Awaited::kMemory;
}

std::string Units::name_of_missing(const UnitBlock& block) const {
  return plan_.source->unit_name(first_missing(block).number);
}

// Asks for the unit's stored bytes.
Step Units::start(const std::shared_ptr<Unit>& unit, const Asker& asker, Actions& actions) {
  if (unit->is<Unit::Waiting>()) {
    if (const std::optional<Step> step = others_have(unit, asker)) return *step;
    const Step step = begin_fetching(*unit, asker);
    if (!unit->is<Unit::Reading>()) return step;
  }
  auto& reading = std::get<Unit::Reading>(unit->at);
  StoreLine& line = core_.fetcher.line(*reading.place.store);
  for (; reading.asked < reading.place.requests.size(); ++reading.asked) {
    if (!line.has_slot()) return Step::kNoSlot;
    actions.flights.push_back(std::make_shared<Arrival>(*this, unit, reading, line));
    core_.fetcher.begin(*actions.flights.back());
    ++reading.awaited;
  }
  return Step::kMoved;
}

// It is Reading where reads have to be sent; Read or Ready where that takes none.
Step Units::begin_fetching(Unit& unit, const Asker& asker) {
  // One unit always, or those that are larger than what is set aside would never be.
  const uint64_t stored = plan_.source->unit_cost(unit.number).fetched_bytes;
  // As if no slot were free, and not as if bytes were lacking: others of the block that are fetched may go on.
  if (asker.ahead && core_.memory.has_fetched() && !core_.memory.may_fetch_ahead(stored)) return Step::kNoSlot;
  std::optional<UnitPlace>& found = std::get<Unit::Waiting>(unit.at).place;
  if (!found) found = unit_work_.look_up(unit.number);
  const size_t requests = found->requests.size();
  if (found->entry && plan_.caches_packed()) {
    unit.at = Unit::Ready{std::move(found->entry), Claim()};
    return Step::kMoved;
  }
  if (requests == 0 || core_.fetcher.line(*found->store).try_now()) {
    unit.at =
        Unit::Read{.place = std::move(*found), .stored = std::vector<Buffer>(requests), .on_thread = requests > 0};
    return Step::kMoved;
  }
  if (!has_slot(*found)) return Step::kNoSlot;
  std::optional<Claim> bytes = claim(Use::kFetched, bytes_of(found->requests), asker);
  if (!bytes) return Step::kNoBytes;
  unit.at = Unit::Reading{.place = std::move(*found),
                          .claim = std::make_shared<Claim>(std::move(*bytes)),
                          .stored = std::vector<Buffer>(requests)};
  return Step::kMoved;
}

Step Units::decode(const std::shared_ptr<Unit>& unit, const Asker& asker, Actions& actions) {
  if (const std::optional<Step> step = others_have(unit, asker)) return *step;
  if (decoding_ >= core_.tuning.threads()) return Step::kNoSlot;
  const UnitNeeds needs = unit_work_.needs(unit->number, std::get<Unit::Read>(unit->at), unit->needs);
  Unit::Running running;
  if (!get_memory(running, needs.together, asker)) return Step::kNoBytes;
  std::optional<Claim> beside = claim(Use::kUnits, needs.apart, asker);
  std::optional<Claim> thread = beside ? claim(Use::kWorking, needs.working, asker) : std::nullopt;
  if (!thread) return Step::kNoBytes;
  running.rows.merge(std::move(*beside));
  running.working = std::move(*thread);
  running.input = std::move(std::get<Unit::Read>(unit->at));
  unit->at = std::move(running);
  ++decoding_;
  // Being at work lasts until the task is gone, which is behind the lock.
  core_.post(actions, asker.order, Work::kUnits, about_unit(static_cast<size_t>(unit->number)),
             [this, unit, at_work = std::shared_ptr(at_work(*unit))](WorkMemory& memory) { work(unit, memory); });
  return Step::kMoved;
}

// For a unit that is to be fetched or decoded. Nothing where that is for this run to do; else what became of it.
std::optional<Step> Units::others_have(const std::shared_ptr<Unit>& unit, const Asker& asker) {
  if (unit->awaits) return Step::kMoved;
  if (!unit->identity) unit->identity.emplace(plan_.identity(unit->number));
  const std::optional<Hash128>& identity = *unit->identity;
  if (!identity) return std::nullopt;
  if (SharedUnits::Rows rows = shared_->find(*identity)) {
    // Each of those who hold them pays for them: whoever does so longest has them then.
    std::optional<Claim> bytes = claim(Use::kUnits, held_bytes(*rows, Buffer()), asker);
    if (!bytes) return Step::kNoBytes;
    // What this run has begun of it is not needed any more; reads in flight land stale.
    unit->at = Unit::Ready{std::move(rows), std::move(*bytes)};
    return Step::kMoved;
  }
  // Whoever tells does so on a thread of the other run; what follows is done on one that is ours.
  unit->awaits = shared_->wait(*identity, [this, weak = core_.weakly_alive(), unit] {
    const std::shared_ptr<void> alive = weak.lock();
    if (!alive) return;
    const RunCore::Lock lock(core_.mutex);
    unit->awaits = false;
    if (!core_.closed) core_.act_on_a_thread();
  });
  return unit->awaits ? std::optional(Step::kMoved) : std::nullopt;
}

std::unique_ptr<SharedUnits::Work> Units::at_work(const Unit& unit) const {
  return unit.identity && *unit.identity ? shared_->begin(**unit.identity) : nullptr;
}

std::optional<Claim> Units::claim(Use use, uint64_t bytes, const Asker& asker) const {
  if (asker.ahead) return core_.memory.leaves_room(bytes) ? core_.memory.take(use, bytes) : std::nullopt;
  std::optional<Claim> taken;
  while (!(taken = core_.memory.take(use, bytes))) {
    if (asker.others == nullptr || !asker.others->make_room(bytes)) return std::nullopt;
  }
  return taken;
}

// Memory for packed rows, or for an entry of the cache.
bool Units::get_memory(Unit::Running& running, uint64_t bytes, const Asker& asker) const {
  BufferPool& pool = core_.memory.units();
  while (bytes > 0 && !running.memory.owner()) {
    // What lies there in other sizes would lie there until somebody is in need.
    if (asker.ahead && !core_.memory.leaves_room(bytes) && !pool.has_idle(bytes) &&
        !(pool.trim() && core_.memory.leaves_room(bytes)))
      return false;
    if (std::optional<BufferPool::Lent> lent = pool.acquire(bytes)) {
      running.memory = std::move(lent->buffer);
      running.rows = std::move(lent->claim);
    } else if (asker.others == nullptr || !asker.others->make_room(bytes)) {
      return false;
    }
  }
  return true;
}

}  // namespace forebay
