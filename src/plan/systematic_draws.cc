#include "plan/systematic_draws.h"

#include <numeric>
#include <optional>
#include <utility>

#include "plan/permutation.h"

// Units are multiplied by the number of draws, so that all distances are whole numbers: a place has
// the points [draws × before(place), draws × before(place + 1)), and draw d is the point d × total
// + offset. Products need 124 bits.

namespace forebay {
namespace {

using Wide = unsigned __int128;

Wide product(uint64_t a, uint64_t b) { return static_cast<Wide>(a) * b; }

// About the golden ratio of the total, which spreads offsets most evenly. Coprime to the total, so
// that each offset comes once in as many epochs as there are offsets.
uint64_t step_of(uint64_t total) {
  auto step = static_cast<uint64_t>(product(total, 0x9E3779B97F4A7C15) >> 64);
  while (std::gcd(step, total) != 1) ++step;
  return step;
}

// The smallest x for which (factor × x) mod `modulus` lies in [low, high], as in Euclid's
// algorithm. low ≤ high < modulus, factor < modulus.
std::optional<Wide> first_in_range(Wide factor, Wide modulus, Wide low, Wide high) {
  if (low == 0) return Wide{0};
  if (factor == 0) return std::nullopt;
  if (2 * factor > modulus) return first_in_range(modulus - factor, modulus, modulus - high, modulus - low);
  const Wide without_wrap = (low + factor - 1) / factor;
  if (without_wrap * factor <= high) return without_wrap;
  // No multiple of `factor` lies in the range, so the first hit is behind a number of wraps. That
  // number solves the same question modulo `factor`.
  const auto negative = [factor](Wide value) { return (factor - value % factor) % factor; };
  const std::optional<Wide> wraps = first_in_range(modulus % factor, factor, negative(high), negative(low));
  if (!wraps) return std::nullopt;
  return (low + modulus * *wraps + factor - 1) / factor;
}

}  // namespace

SystematicDraws::SystematicDraws(std::unique_ptr<const WeightLine> line, int64_t draws, uint64_t seed)
    : line_(std::move(line)), draws_(draws), total_(line_->total()),
      first_offset_(PermutationKey::root(seed, PermutationKey::Use::kDrawnOffset).a % total_), step_(step_of(total_)) {}

uint64_t SystematicDraws::offset(int64_t epoch) const {
  return static_cast<uint64_t>((product(static_cast<uint64_t>(epoch), step_) + first_offset_) % total_);
}

int64_t SystematicDraws::place_of(int64_t epoch, int64_t draw) const {
  const Wide point = product(static_cast<uint64_t>(draw), total_) + offset(epoch);
  return line_->holding(static_cast<uint64_t>(point / static_cast<uint64_t>(draws_)));
}

int64_t SystematicDraws::draws_before(int64_t epoch, int64_t place) const {
  const Wide begin = product(line_->before(place), static_cast<uint64_t>(draws_));
  return static_cast<int64_t>((begin + (total_ - 1 - offset(epoch))) / total_);
}

int64_t SystematicDraws::next_epoch(int64_t epoch, int64_t place) const {
  const uint64_t before = line_->before(place);
  const Wide points = product(line_->before(place + 1) - before, static_cast<uint64_t>(draws_));
  if (points == 0) return Order::kNoUse.epoch;
  if (points >= total_) return epoch;
  // The first draw at the place's beginning or later is `ahead` points behind it, or before it. In
  // the next epoch the draws are `step_` points further on. A draw is in the place while that
  // distance, modulo the total, is below `points`.
  const auto begin = static_cast<uint64_t>(product(before, static_cast<uint64_t>(draws_)) % total_);
  const uint64_t ahead = (offset(epoch) + (total_ - begin)) % total_;
  if (ahead < points) return epoch;
  const Wide low = total_ - ahead;
  const std::optional<Wide> epochs = first_in_range(step_, total_, low, low + points - 1);
  if (!epochs || *epochs >= static_cast<Wide>(Order::kNoUse.epoch - epoch)) return Order::kNoUse.epoch;
  return epoch + static_cast<int64_t>(*epochs);
}

}  // namespace forebay
