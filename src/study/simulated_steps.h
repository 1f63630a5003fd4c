#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "forebay/simulation.h"
#include "plan/order.h"
#include "plan/placement.h"
#include "plan/shard_assignment.h"

namespace forebay {

/// The steps of a simulated job, and the caches that follow from its first epoch. Immutable.
class SimulatedSteps {
 public:
  virtual ~SimulatedSteps() = default;
  /// The position after the step that begins at `at`.
  virtual int64_t next_position(const Order::Use& at) const = 0;
  /// Divides the rows of that step among the ranks. Replaces `out`. Slots count from the position of
  /// the step on; those behind its last position are repeats.
  virtual void divide(const Order::Use& at, AssignedBatch* out) const = 0;
  /// The host that caches a sample, and the number of rows that the host got before it; kNoOwner if
  /// no host has the room.
  virtual Placement::Ownership owner(int64_t id) const = 0;
  /// Rows that a host gets in the first epoch.
  virtual int64_t rows_of_host(int64_t host) const = 0;
};

/// The rule by which the rows of batches of one size are divided.
enum class Dividing : uint8_t {
  kByCount,
  kByLocality,  ///< to the host that read a sample first, as if it could cache all of them
};

/// Batches of one size. `options` are complete; a host caches `rows_cached` rows.
std::unique_ptr<SimulatedSteps> equal_steps(const SimulationOptions& options, std::shared_ptr<const Order> order,
                                            int64_t rows_cached, Dividing dividing);

/// The ends of the batches that a job takes one after another, by epoch.
using BatchEnds = std::vector<std::vector<int64_t>>;
/// Batches of like lengths, each of which one rank gets as a whole.
std::unique_ptr<SimulatedSteps> like_length_steps(const SimulationOptions& options, std::shared_ptr<const Order> order,
                                                  int64_t rows_cached, std::shared_ptr<const BatchEnds> ends);

}  // namespace forebay
