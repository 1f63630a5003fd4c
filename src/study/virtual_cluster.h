#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "forebay/simulation.h"

namespace forebay {

/// Hosts with links and disks, and the storage that they share, in virtual time: each is a queue that serves in order at its rate. The rows of a
/// step are told one by one, then the step is taken: by all ranks at once, when the last row is there. Rows of a step may be on their way
/// from when the one `ahead` before it was taken. Memory: a few words a host, and two a row of one step.
class VirtualCluster {
 public:
  explicit VirtualCluster(const SimulationOptions& options);

  // Where a row of the next step comes from.
  void from_ram(int64_t host, double bytes);
  void from_disk(int64_t host, double bytes);
  void from_storage(int64_t host, double bytes);
  void from_peer(int64_t peer, int64_t host, double bytes);
  /// The ranks take the step, whose batches have so many rows each.
  void take_step(double rows_a_rank);
  /// What happened since the last call of this.
  SimulatedEpoch finish_epoch();

 private:
  struct Host {
    double disk_bytes = 0, storage_bytes = 0, peer_bytes = 0, sent_bytes = 0;
    int64_t rows = 0, storage_rows = 0, peer_rows = 0;
    // When each is free again.
    double disk = 0, requests = 0, receives = 0, sends = 0, prepares = 0;
    double there = 0;  // when the step's rows are
  };
  void serve(double issued);
  void count_step();
  double storage_rate() const;

  const SimulationOptions options_;
  std::vector<Host> hosts_;
  std::vector<std::pair<int32_t, int32_t>> moves_;  // peer, host; of the next step
  std::deque<double> taken_;                        // when the last `ahead` steps were
  double storage_ = 0;                              // free again
  double now_ = 0, epoch_began_ = 0;
  int64_t rows_ = 0, moved_ = 0, steps_ = 0;
  SimulatedEpoch epoch_;
};

}  // namespace forebay
