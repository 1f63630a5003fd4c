#include <utility>

#include "pipeline/run/run_trace.h"
#include "pipeline/run/units.h"
#include "pipeline/run/units_read.h"

// What comes back for units: from stores, and from compute threads.

namespace forebay {

void Units::on_read(Read& read, Result<Buffer> result) {
  if (const auto trace = core_.plan->trace->get())
    trace_read(*trace, read, about_unit(static_cast<size_t>(read.unit->number)), result.ok());
  const Turn turn(core_);
  core_.fetcher.end(read);
  Unit::Reads& reads = *read.reads;
  --reads.awaited;
  if (reads.stale) {
    if (reads.awaited == 0) reads.claim.give_back();
    return;
  }
  Unit& unit = *read.unit;
  if (result.ok()) {
    core_.plan->fetch_counters->add(0, result->size(), result->size(), 0);
    unit.stored[read.piece] = std::move(*result);
  } else if (unit.status.ok()) {
    unit.status = result.status();
    unit.asked = unit.requests.size();  // the rest is not asked for
  }
  // Requests that found no slot are sent by the next advance(), which goes on behind `asked`.
  if (reads.awaited > 0 || unit.asked < unit.requests.size()) return;
  unit.state = Unit::State::kFetched;
  if (!unit.status.ok()) failed(unit, std::exchange(unit.status, Status()));
}

// With what is wrong with all of its rows. Storage that is away matters only to the batch that is due.
void Units::failed(Unit& unit, Status status) {
  const bool again = status.code() == Code::kUnavailable && !is_due_(unit);
  drop(unit);
  if (again) return;
  unit.status = std::move(status);
  unit.state = Unit::State::kBad;
}

void Units::work(const std::shared_ptr<Unit>& unit, WorkMemory& memory) {
  const uint64_t own = core_.options.working_bytes_per_thread;
  RunCore::Lock lock(core_.mutex);
  const bool wanted = !core_.closed && !unit->given_up;
  const uint64_t granted = unit->working.bytes();
  unit->begun = true;
  core_.settled();
  lock.unlock();
  UnitWork::Made made{cancelled("not wanted any more")};
  if (wanted) {
    memory.begin_task(own + granted, own);
    made = unit_work_.make(*unit, memory);
  }
  const Turn turn(core_);
  core_.ended();
  --decoding_;
  unit->begun = false;
  unit->working.give_back();
  after_decoding(*unit, std::move(made.rows), made.cold);
}

void Units::after_decoding(Unit& unit, Result<std::shared_ptr<const Columns>> made, bool cold) {
  const bool wanted = !std::exchange(unit.given_up, false) && !core_.closed;
  if (unit.read_later) core_.fetcher.line(*unit.store).found(cold);
  // Not Decoding any more, or drop() would leave its bytes to a thread that has come back already.
  unit.state = Unit::State::kReady;
  if (unit.reads) unit.reads->claim.give_back();
  if (made.ok() && wanted) {
    keep(unit, std::move(*made));
  } else if (made.ok()) {
    drop(unit);
    unit.needs = 0;
  } else {
    decoding_failed(unit, made.status(), cold || !wanted);
  }
}

void Units::keep(Unit& unit, std::shared_ptr<const Columns> rows) {
  if (!unit.cached) ++decoded_[static_cast<size_t>(unit.number)];
  const uint64_t bytes = held_bytes(*rows, unit.memory);
  unit.memory = Buffer();
  if (bytes > unit.row_claim.bytes()) {
    unit.row_claim.merge(core_.memory.existing(Use::kUnits, bytes - unit.row_claim.bytes()));
  } else {
    unit.row_claim.shrink_to(bytes);
  }
  unit.stored.clear();
  unit.requests.clear();
  unit.reads.reset();
  unit.needs = 0;
  unit.rows = std::move(rows);
  if (unit.identity) shared_->offer(*unit.identity, unit.rows);
}

// It begins anew where that is said (bytes were not at hand), where the cache's entry was damaged, and where it asks for more memory
// than last time; otherwise all of its rows are bad.
void Units::decoding_failed(Unit& unit, const Status& status, bool again) {
  const uint64_t own = core_.options.working_bytes_per_thread;
  const uint64_t beyond = status.bytes_needed() > own ? status.bytes_needed() - own : 0;
  const bool damaged_entry = unit.cached && status.code() == Code::kCorrupt;
  const bool lacks_memory = status.code() == Code::kOutOfBudget && unit.needs < beyond;
  drop(unit);
  unit.needs = lacks_memory ? beyond : 0;
  if (again || damaged_entry || lacks_memory) return;
  unit.status = status;
  unit.state = Unit::State::kBad;
}

}  // namespace forebay
