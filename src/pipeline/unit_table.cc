#include "pipeline/unit_table.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/part_search.h"

namespace forebay {

uint64_t Unit::claimed_bytes() const {
  const auto of = [](const std::shared_ptr<Claim>& claim) { return claim ? claim->bytes() : 0; };
  if (const auto* reading = std::get_if<Reading>(&at)) return of(reading->claim);
  if (const auto* read = std::get_if<Read>(&at)) return of(read->claim);
  if (const auto* running = std::get_if<Running>(&at)) return of(running->input.claim) + running->rows.bytes();
  const auto* ready = std::get_if<Ready>(&at);
  return ready != nullptr ? ready->claim.bytes() : 0;
}

bool UnitBlock::ready() const {
  return std::all_of(units.begin(), units.end(), [](const auto& unit) { return unit->ended(); });
}

bool UnitBlock::has_bad_rows() const {
  return std::any_of(units.begin(), units.end(),
                     [](const auto& unit) { return unit->template is<Unit::Failed>() || unit->rows()->bad_rows; });
}

bool UnitBlock::has(const Unit& unit) const {
  return std::any_of(units.begin(), units.end(), [&](const auto& own) { return own.get() == &unit; });
}

RowInBlock UnitBlock::place(int64_t id) const {
  const size_t index = part_holding(std::span<const int64_t>(begins), id, [](int64_t begin) { return begin; });
  return {index, id - begins[index]};
}

bool UnitBlock::holds(int64_t id) const {
  if (units.empty() || id < begins.front()) return false;
  return id < ends[place(id).unit];
}

void UnitBlock::add(std::shared_ptr<Unit> unit, int64_t begin, int64_t end) {
  units.push_back(std::move(unit));
  begins.push_back(begin);
  ends.push_back(end);
}

UnitTable::UnitTable(std::shared_ptr<const Order> order, std::vector<int64_t> begins)
    : order_(std::move(order)), begins_(std::move(begins)) {}

UnitBlockPtr UnitTable::block_at(int64_t epoch, int64_t position) {
  const Order::Range range = order_->read_together(epoch, position);
  auto& block = blocks_[{epoch, range.first}];
  if (block) return block;
  block = std::make_shared<UnitBlock>();
  block->epoch = epoch;
  block->range = range;
  std::vector<int64_t> numbers = order_->chunks_together(epoch, position);
  std::sort(numbers.begin(), numbers.end());
  for (const int64_t number : numbers) add_unit(*block, number);
  hold(*block);
  return block;
}

UnitBlockPtr UnitTable::block_after(const UnitBlock& block) {
  const int64_t next = block.range.first + block.range.step * block.range.count;
  if (next < order_->size()) return block_at(block.epoch, next);
  // Positions of a lane are its number and every step-th behind; so the remainder is the lane's first.
  return block_at(block.epoch + 1, block.range.first % block.range.step);
}

int64_t UnitTable::unit_of(int64_t id) const {
  return std::upper_bound(begins_.begin(), begins_.end(), id) - begins_.begin() - 1;
}

void UnitTable::add_unit(UnitBlock& block, int64_t number) {
  auto& unit = units_[number];
  if (!unit) {
    unit = std::make_shared<Unit>();
    unit->number = number;
  }
  block.add(unit, begins_[static_cast<size_t>(number)], begins_[static_cast<size_t>(number) + 1]);
}

UnitBlockPtr UnitTable::widened(const UnitBlock& block, const std::vector<int64_t>& ids) {
  auto wider = std::make_shared<UnitBlock>();
  wider->epoch = block.epoch;
  wider->range = block.range;
  wider->open = false;
  std::set<int64_t> numbers;
  for (const auto& unit : block.units) numbers.insert(unit->number);
  for (const int64_t id : ids) numbers.insert(unit_of(id));
  for (const int64_t number : numbers) add_unit(*wider, number);
  return wider;
}

// Its unit is no unit of the table yet: hold() makes it one, or takes the one that is there.
UnitBlockPtr UnitTable::block_of_old(int64_t number) const {
  auto block = std::make_shared<UnitBlock>();
  block->range = {.first = -1};
  block->open = false;
  block->old = true;
  auto unit = std::make_shared<Unit>();
  unit->number = number;
  block->add(std::move(unit), begins_[static_cast<size_t>(number)], begins_[static_cast<size_t>(number) + 1]);
  return block;
}

void UnitTable::hold(UnitBlock& block) {
  if (std::exchange(block.held, true)) return;
  for (auto& unit : block.units) {
    auto& known = units_[unit->number];
    // While nobody held this block its unit may have been begun anew for another one: that is the one that lives.
    if (known) {
      unit = known;
    } else {
      known = unit;
    }
    ++unit->wanted;
  }
}

void UnitTable::let_go(UnitBlock& block, Freed& freed) {
  if (!std::exchange(block.held, false)) return;
  for (const auto& unit : block.units) {
    if (--unit->wanted > 0) continue;
    freed.push_back(unit);
    units_.erase(unit->number);
  }
}

void UnitTable::close_before(int64_t epoch, int64_t position) {
  for (const auto& [key, block] : blocks_) {
    if (block->epoch < epoch || (block->epoch == epoch && block->last_position() < position)) block->open = false;
  }
}

// A task that begins anew may need a block that was let go of before.
void UnitTable::add_user(const UnitBlockPtr& block) {
  ++block->users;
  hold(*block);
}

void UnitTable::remove_user(const UnitBlockPtr& block, Freed& freed) {
  if (--block->users > 0 || block->open) return;
  let_go(*block, freed);
  const auto known = blocks_.find({block->epoch, block->range.first});
  if (known != blocks_.end() && known->second == block) blocks_.erase(known);
}

void UnitTable::sweep(Freed& freed) {
  for (auto at = blocks_.begin(); at != blocks_.end();) {
    if (at->second->users > 0 || at->second->open) {
      ++at;
      continue;
    }
    let_go(*at->second, freed);
    at = blocks_.erase(at);
  }
}

void UnitTable::clear(Freed& freed) {
  for (const auto& [key, block] : blocks_) block->open = false;
  sweep(freed);
}

}  // namespace forebay
