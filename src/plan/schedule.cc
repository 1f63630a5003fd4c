#include "plan/schedule.h"

#include <algorithm>
#include <cassert>

#include "plan/permutation.h"

namespace forebay {

Schedule::~Schedule() = default;

int64_t replacement_position(uint64_t seed, int64_t epoch, int64_t position, int64_t attempt, int64_t epoch_size) {
  return replacement_position(seed, epoch, position, attempt, Order::Range{0, 1, epoch_size});
}

int64_t replacement_position(uint64_t seed, int64_t epoch, int64_t position, int64_t attempt,
                             const Order::Range& range) {
  assert(attempt >= 0 && range.count >= 1);
  const int64_t others = range.count - 1;
  if (others == 0) return position;
  // A permutation of the other positions: no attempt returns to a bad one before all have been
  // tried.
  const PermutationKey key = PermutationKey::root(seed, PermutationKey::Use::kReplacement).child(epoch).child(position);
  const int64_t drawn = Permutation(others, key).at(attempt % others);
  const int64_t own = (position - range.first) / range.step;
  return range.first + range.step * (drawn < own ? drawn : drawn + 1);
}

namespace {

constexpr int64_t kNear = 50, kElsewhere = 16;  // attempts in one place

// The samples that are read after `range`, lane after lane.
Order::Range read_next(const Order& order, int64_t epoch, const Order::Range& range) {
  const int64_t next = range.first + range.step * range.count, lane = range.first % range.step;
  if (next < order.size()) return order.read_together(epoch, next);
  const int64_t other = (lane + 1) % range.step;
  return order.read_together(epoch, other < order.size() ? other : 0);
}

}  // namespace

int64_t replacement_position(uint64_t seed, int64_t epoch, int64_t position, int64_t attempt, const Order& order) {
  const Order::Range own = order.read_together(epoch, position);
  const int64_t near = std::min(own.count - 1, kNear);
  if (attempt < near || own.count == order.size()) return replacement_position(seed, epoch, position, attempt, own);
  const PermutationKey key = PermutationKey::root(seed, PermutationKey::Use::kReplacement).child(epoch).child(position);
  int64_t left = attempt - near;
  for (Order::Range there = read_next(order, epoch, own);; there = read_next(order, epoch, there)) {
    // Terminates: own.count is not the whole order, so some other range has rows, and each of these
    // reduces `left`.
    if (there.first == own.first) continue;
    const int64_t tried = std::min(there.count, kElsewhere);
    if (left < tried) return there.first + there.step * Permutation(there.count, key.child(there.first)).at(left);
    left -= tried;
  }
}

}  // namespace forebay
