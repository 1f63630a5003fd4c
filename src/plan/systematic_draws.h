#pragma once

#include <cstdint>
#include <memory>

#include "plan/order.h"
#include "plan/weight_line.h"

namespace forebay {

/// Systematic sampling: `draws` draws an epoch from a line of weighted places, at equal distances
/// from an offset that is another one in each epoch. With m = draws × weight / total, a place comes
/// ⌊m⌋ or ⌈m⌉ times an epoch. The offsets are a sequence of low discrepancy, so over many epochs a
/// place comes m times on average. Draws ascend with the places.
///
/// A pure function with constant memory beside the weights. Epochs are 0 or larger, draws in
/// [0, size()).
class SystematicDraws {
 public:
  /// The line has a total above 0. `draws` is at least 1 and below 2^62.
  SystematicDraws(std::unique_ptr<const WeightLine> line, int64_t draws, uint64_t seed);

  int64_t size() const { return draws_; }
  int64_t places() const { return line_->places(); }
  int64_t place_of(int64_t epoch, int64_t draw) const;
  /// Draws of places before this one, which is in [0, places()]: the first draw of the place, if it
  /// has any.
  int64_t draws_before(int64_t epoch, int64_t place) const;
  /// The first epoch from `epoch` on that draws the place. Takes the logarithm of the total.
  /// Order::kNoUse.epoch if none does.
  int64_t next_epoch(int64_t epoch, int64_t place) const;

 private:
  uint64_t offset(int64_t epoch) const;

  std::unique_ptr<const WeightLine> line_;
  int64_t draws_;
  uint64_t total_;
  // The offset in epoch 0, and the distance from one epoch's to the next one's, modulo the total.
  uint64_t first_offset_, step_;
};

}  // namespace forebay
