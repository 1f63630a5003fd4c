#include <utility>

#include "pipeline/runner.h"

// Units that other runs of the process have, or are at work on.

namespace forebay {

// For a unit that is to be fetched or decoded. False where that is for this run to do; else what became of it.
bool Runner::others_have(const std::shared_ptr<Unit>& unit, const JobPtr& job, const UnitBlock& block, Step* step) {
  *step = Step::kMoved;
  if (unit->awaits) return true;
  if (!std::exchange(unit->identified, true)) unit->identity = plan_->units->identity(unit->number);
  if (!unit->identity) return false;
  if (SharedUnits::Rows rows = shared_units_->find(*unit->identity)) {
    // Each of those who hold them pays for them: whoever does so longest has them then.
    std::optional<Claim> claim = claim_for_unit(Use::kUnits, held_bytes(*rows, Buffer()), job, block);
    if (!claim) {
      *step = Step::kNoBytes;
      return true;
    }
    drop_unit(*unit);
    unit->row_claim = std::move(*claim);
    unit->rows = std::move(rows);
    unit->state = Unit::State::kReady;
    return true;
  }
  unit->awaits = shared_units_->wait(*unit->identity, [runner = weak_from_this(), unit] {
    if (const std::shared_ptr<Runner> self = runner.lock()) self->told(unit);
  });
  return unit->awaits;
}

std::unique_ptr<SharedUnits::Work> Runner::at_work(const Unit& unit) const {
  return unit.identity ? shared_units_->begin(*unit.identity) : nullptr;
}

// On whatever thread the other run was: what follows is done on one that is ours.
void Runner::told(const std::shared_ptr<Unit>& unit) {
  Lock lock(mutex_);
  unit->awaits = false;
  if (!closed_) pump_on_a_thread();
}

}  // namespace forebay
