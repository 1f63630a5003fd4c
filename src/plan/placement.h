#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "forebay/status.h"
#include "plan/divisor.h"
#include "plan/hosts.h"
#include "plan/order.h"

namespace forebay {

struct PlacementOptions {
  Hosts hosts = {};
  int64_t batch_size = 1;  ///< rows a rank in the first epoch
  int64_t lanes = 1;       ///< of the order; 1 where the first epoch is dealt by count
  /// Whether the last global batch is filled up with repeats (`last="pad"`): its rows are then dealt as those of whole ones.
  bool pads = false;
  /// How many rows each host keeps, a number per host; or one for all of them; or none: every host keeps all that it gets.
  std::vector<int64_t> budgets = {};

  /// InvalidArgument unless the numbers are 1 or larger, and the budgets 0 or larger and as many as said above.
  Status check() const;
};

/// Which host keeps which sample: the first rows that it gets in epoch 0, as many as its budget holds. That epoch is dealt by count, or by
/// lane where there are lanes, so what a host keeps is what it has read anyway.
///
/// A pure function: every host knows it of every other without a message, in O(1) time a look-up (that of the order's inverse) and one
/// number a host of memory. Where sizes differ so much that a count is no measure of bytes, each host finds its own number by
/// rows_that_fit() and the hosts tell each other these numbers once; they are then the budgets.
///
/// Row groups stay whole: rows that are read together count as kept when the last one of them is within the budget.
///
/// Nothing depends on this being true of the caches: a wrong guess costs a read from storage.
class Placement {
 public:
  static constexpr int32_t kNobody = -1;

  /// `options` must pass check(); at most 2^31 - 1 hosts.
  Placement(std::shared_ptr<const Order> order, PlacementOptions options);

  const Hosts& hosts() const { return options_.hosts; }
  int64_t lanes() const { return options_.lanes; }
  /// The host that keeps a sample, or kNobody.
  int32_t owner(int64_t id) const;
  /// The same, and the how manieth of the rows that the host gets first it is.
  struct Kept {
    int32_t host = kNobody;
    int64_t index = 0;
    int64_t position = 0;  ///< in epoch 0; of rows that stay together, that of the last one
  };
  Kept kept(int64_t id) const;
  /// The same for many: several times faster for each. `owners` is as long as `ids`.
  void owners(std::span<const int64_t> ids, std::span<int32_t> owners) const;

  /// Rows that the host gets in epoch 0, those of a tail that `last="drop"` leaves out among them.
  int64_t rows_dealt(int64_t host) const;
  /// The sample that it gets there as its index-th, index in [0, rows_dealt(host)).
  int64_t id_dealt(int64_t host, int64_t index) const;
  /// Of the first rows that a host gets, how many fit into so many bytes. Takes time with the rows that fit.
  int64_t rows_that_fit(int64_t host, uint64_t bytes, const std::function<uint64_t(int64_t id)>& size_of) const;
  /// The part of all samples that some host keeps, 0 to 1; 1 for no samples.
  double share() const;

 private:
  // Whose row a position of epoch 0 is.
  Kept turn_of(int64_t position) const { return options_.lanes > 1 ? turn_by_lane(position) : turn_by_count(position); }
  Kept turn_by_count(int64_t position) const;
  Kept turn_by_lane(int64_t position) const;
  int64_t position_dealt(int64_t host, int64_t index) const;
  Kept kept_at(int64_t position) const;
  int64_t budget(int64_t host) const {
    if (options_.budgets.empty()) return INT64_MAX;
    return options_.budgets[options_.budgets.size() == 1 ? 0 : static_cast<size_t>(host)];
  }
  int64_t host_rows() const { return options_.batch_size * options_.hosts.ranks_per_host; }  // of a whole batch
  int64_t rows_a_step(int64_t host) const { return options_.batch_size * options_.hosts.ranks(host); }
  int64_t tail_begin(int64_t host) const;  // where its part of the positions after whole_ begins, counted from there

  const std::shared_ptr<const Order> order_;
  const PlacementOptions options_;
  const int64_t global_batch_;
  const int64_t whole_;  // positions in whole global batches
  const Divisor by_batch_, by_host_rows_, by_lanes_;
  std::vector<int32_t> host_of_lane_;
  std::vector<int64_t> first_lane_;  // of each host, and at the end their number; empty without lanes
};

}  // namespace forebay
