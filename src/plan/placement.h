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
  int64_t batch_size = 1;  ///< rows of a rank in the first epoch
  int64_t lanes = 1;       ///< of the order; 1 if the first epoch is assigned by count
  /// Whether repeats fill up the last global batch (`last="pad"`). Its rows are then assigned like
  /// those of a whole batch.
  bool pads = false;
  /// Number of rows that each host caches: one number per host, or one for all. If empty, every
  /// host caches all rows that it gets.
  std::vector<int64_t> budgets = {};

  /// InvalidArgument unless the numbers are at least 1, and the budgets are at least 0 and as many
  /// as stated above.
  Status check() const;
};

/// Computes the owner of each sample: the host that caches it. A host caches the first rows that it
/// gets in epoch 0, as many as its budget allows. Immutable; may be used from any thread. Epoch 0
/// is assigned by count, or by lane if there are lanes. So a host caches only what it has read
/// anyway.
///
/// A pure function: every host knows the owners of all samples without a message. A look-up takes
/// O(1) time (that of the order's inverse), and memory is one number per host. If sizes differ so
/// much that a count does not measure bytes, each host computes its own number with
/// rows_that_fit(). The hosts exchange these numbers once and use them as budgets.
///
/// Row groups stay whole: rows that are read together are cached if the last one of them is within
/// the budget.
///
/// Correctness does not depend on the state of the caches: a wrong guess costs a read from storage.
class Placement {
 public:
  static constexpr int32_t kNoOwner = -1;

  /// `options` must pass check(); at most 2^31 - 1 hosts.
  Placement(std::shared_ptr<const Order> order, PlacementOptions options);

  const Hosts& hosts() const { return options_.hosts; }
  int64_t lanes() const { return options_.lanes; }
  /// The host that caches the sample, or kNoOwner. Samples that do not come in epoch 0 have none.
  int32_t owner(int64_t id) const;
  /// The owner of a sample, and the sample's index among all rows that the host gets in epoch 0.
  struct Ownership {
    int32_t host = kNoOwner;
    int64_t index = 0;
    /// Position of the sample in epoch 0. For rows that are read together, that of the last one.
    int64_t position = 0;
  };
  Ownership ownership(int64_t id) const;
  /// owner() of many samples; several times faster for each. `owners` is as long as `ids`.
  void owners(std::span<const int64_t> ids, std::span<int32_t> owners) const;

  /// Rows that the host gets in epoch 0, including those of a tail that `last="drop"` leaves out.
  int64_t rows_assigned(int64_t host) const;
  /// The sample that the host gets as its index-th row in epoch 0; index is in [0,
  /// rows_assigned(host)).
  int64_t id_assigned(int64_t host, int64_t index) const;
  /// Number of the host's first rows that fit into `bytes` together. Takes time proportional to
  /// that number.
  int64_t rows_that_fit(int64_t host, uint64_t bytes, const std::function<uint64_t(int64_t id)>& size_of) const;
  /// Share of all samples that some host caches, 0 to 1; 1 if there are no samples.
  double share() const;

 private:
  // The host that gets a position of epoch 0, whatever its budget.
  Ownership assigned_at(int64_t position) const {
    return options_.lanes > 1 ? assigned_by_lane(position) : assigned_by_count(position);
  }
  Ownership assigned_by_count(int64_t position) const;
  Ownership assigned_by_lane(int64_t position) const;
  int64_t position_assigned(int64_t host, int64_t index) const;
  Ownership ownership_at(int64_t position) const;
  int64_t budget(int64_t host) const {
    if (options_.budgets.empty()) return INT64_MAX;
    return options_.budgets[options_.budgets.size() == 1 ? 0 : static_cast<size_t>(host)];
  }
  // Rows of a whole batch.
  int64_t host_rows() const { return options_.batch_size * options_.hosts.ranks_per_host; }
  int64_t rows_per_step(int64_t host) const { return options_.batch_size * options_.hosts.ranks(host); }
  // Beginning of the host's part of the positions after whole_, relative to whole_.
  int64_t tail_begin(int64_t host) const;

  const std::shared_ptr<const Order> order_;
  const PlacementOptions options_;
  const int64_t global_batch_;
  const int64_t whole_;  // positions in whole global batches
  const Divisor by_batch_, by_host_rows_, by_lanes_;
  std::vector<int32_t> host_of_lane_;
  // Index of each host's first lane, then the number of lanes; empty without lanes.
  std::vector<int64_t> first_lane_;
};

}  // namespace forebay
