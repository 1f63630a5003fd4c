#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "forebay/simulation.h"

namespace forebay {

/// Simulates in virtual time hosts with links and disks, and the storage that they share. Each is a
/// queue that serves in order at its rate. The caller adds the rows of a step one by one, then
/// takes the step. All ranks take it at once, when its last row has arrived. Rows of a step may be
/// requested from the moment that the step `ahead` before it was taken. Memory: a few words per
/// host, and two per row of one step.
class VirtualCluster {
 public:
  explicit VirtualCluster(const SimulationOptions& options);

  // Add a row of the next step, by the place that it comes from.
  void from_ram(int64_t host, double bytes);
  void from_disk(int64_t host, double bytes);
  void from_storage(int64_t host, double bytes);
  void from_peer(int64_t peer, int64_t host, double bytes);
  /// Lets the ranks take the step. Each of their batches has `rows_a_rank` rows.
  void take_step(double rows_a_rank);
  /// Returns the figures since the last call.
  SimulatedEpoch finish_epoch();

 private:
  struct Host {
    double disk_bytes = 0, storage_bytes = 0, peer_bytes = 0, sent_bytes = 0;
    int64_t rows = 0, storage_rows = 0, peer_rows = 0;
    // Times at which each queue is free again.
    double disk = 0, requests = 0, receives = 0, sends = 0, prepares = 0;
    double there = 0;  // time at which the step's rows have arrived
  };
  void serve(double issued);
  void count_step();
  double storage_rate() const;

  const SimulationOptions options_;
  std::vector<Host> hosts_;
  std::vector<std::pair<int32_t, int32_t>> moves_;  // (peer, host) pairs of the next step
  std::deque<double> taken_;                        // times of the last `ahead` steps
  double storage_ = 0;                              // time at which storage is free again
  double now_ = 0, epoch_began_ = 0;
  int64_t rows_ = 0, moved_ = 0, steps_ = 0;
  SimulatedEpoch epoch_;
};

}  // namespace forebay
