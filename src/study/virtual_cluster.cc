#include "study/virtual_cluster.h"

#include <algorithm>

namespace forebay {

namespace {

// A rate of 0 means no limit.
double time_for(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

}  // namespace

VirtualCluster::VirtualCluster(const SimulationOptions& options)
    : options_(options), hosts_(static_cast<size_t>(options.hosts)) {}

void VirtualCluster::from_ram(int64_t host, double bytes) {
  ++hosts_[static_cast<size_t>(host)].rows;
  epoch_.ram_bytes += bytes;
}

void VirtualCluster::from_disk(int64_t host, double bytes) {
  Host& here = hosts_[static_cast<size_t>(host)];
  ++here.rows;
  here.disk_bytes += bytes;
  epoch_.disk_bytes += bytes;
}

void VirtualCluster::from_storage(int64_t host, double bytes) {
  Host& here = hosts_[static_cast<size_t>(host)];
  ++here.rows;
  ++here.storage_rows;
  here.storage_bytes += bytes;
  epoch_.storage_bytes += bytes;
}

void VirtualCluster::from_peer(int64_t peer, int64_t host, double bytes) {
  Host& here = hosts_[static_cast<size_t>(host)];
  ++here.rows;
  ++here.peer_rows;
  here.peer_bytes += bytes;
  hosts_[static_cast<size_t>(peer)].sent_bytes += bytes;
  moves_.push_back({static_cast<int32_t>(peer), static_cast<int32_t>(host)});
  epoch_.peer_bytes += bytes;
}

// Rate of storage with as many requests in flight as the hosts have.
double VirtualCluster::storage_rate() const {
  if (options_.storage.knee <= 0) return options_.storage.bytes_per_second;
  int64_t in_flight = 0;
  for (const Host& host : hosts_) in_flight += std::min(host.storage_rows * options_.ahead, options_.requests);
  // Linear up to the knee, constant above it.
  const double reached = static_cast<double>(in_flight) / static_cast<double>(options_.storage.knee);
  return options_.storage.bytes_per_second * std::min(1.0, reached);
}

// Serves the queues in order. The rows of a step have arrived once all of its queues have served
// it. Work on rows begins with the first of them and ends with the last.
void VirtualCluster::serve(double issued) {
  const double rate = storage_rate(), in_flight = static_cast<double>(options_.requests);
  for (Host& host : hosts_) {
    host.sends = std::max(host.sends, issued) + time_for(host.sent_bytes, options_.link_bytes_per_second);
    host.disk = std::max(host.disk, issued) + time_for(host.disk_bytes, options_.disk_bytes_per_second);
    host.there = host.disk_bytes > 0 ? host.disk : issued;
    if (host.storage_rows > 0) {
      const auto rows = static_cast<double>(host.storage_rows);
      storage_ = std::max(storage_, issued) +
                 std::max(time_for(host.storage_bytes, rate), time_for(rows, options_.storage.requests_per_second));
      // Requests in flight share their latency; the last one has its full latency, which is added
      // below.
      host.requests = std::max(host.requests, issued) + rows * options_.storage.latency_seconds / in_flight;
      host.there = std::max(host.there, std::max(storage_, host.requests) + options_.storage.latency_seconds);
    }
    // Peers and storage share one link, as on most hosts.
    host.receives = std::max(host.receives, issued) +
                    std::max(time_for(host.peer_bytes + host.storage_bytes, options_.link_bytes_per_second),
                             static_cast<double>(host.peer_rows) * options_.link_latency_seconds / in_flight);
    if (host.peer_rows + host.storage_rows > 0)
      host.there = std::max(host.there, host.receives + options_.link_latency_seconds);
  }
  // After all hosts, since only then it is known when each peer has sent its rows.
  for (const auto& [peer, host] : moves_) {
    Host& to = hosts_[static_cast<size_t>(host)];
    to.there = std::max(to.there, hosts_[static_cast<size_t>(peer)].sends + options_.link_latency_seconds);
  }
  for (Host& host : hosts_) {
    host.prepares =
        std::max(host.prepares, issued) + time_for(static_cast<double>(host.rows), options_.prepare_per_second);
    // The last row may arrive when all others are done; then only that row remains to be made.
    host.there = std::max(host.prepares, host.there + time_for(1, options_.prepare_per_second));
  }
}

void VirtualCluster::count_step() {
  double most = 0, all = 0;
  for (const Host& host : hosts_) {
    most = std::max(most, host.peer_bytes + host.storage_bytes);
    all += host.peer_bytes + host.storage_bytes;
    rows_ += host.rows;
  }
  const double imbalance = all > 0 ? most * static_cast<double>(hosts_.size()) / all : 1;
  epoch_.imbalance += imbalance;
  epoch_.imbalance_high = std::max(epoch_.imbalance_high, imbalance);
  moved_ += static_cast<int64_t>(moves_.size());
  ++steps_;
}

void VirtualCluster::take_step(double rows_a_rank) {
  const bool waits_for_room = static_cast<int64_t>(taken_.size()) == options_.ahead;
  // Issued when the step `ahead` before this one was taken; the first steps at time 0.
  serve(waits_for_room ? taken_.front() : 0);
  if (waits_for_room) taken_.pop_front();
  count_step();
  double there = 0;
  for (Host& host : hosts_) {
    there = std::max(there, host.there);
    host.disk_bytes = host.storage_bytes = host.peer_bytes = host.sent_bytes = 0;
    host.rows = host.storage_rows = host.peer_rows = 0;
  }
  moves_.clear();
  // Counts only the time that the trainer stood still.
  epoch_.wait_seconds += std::max(0.0, there - now_);
  now_ = std::max(now_, there);
  taken_.push_back(now_);
  now_ += time_for(rows_a_rank, options_.train_per_second);
}

SimulatedEpoch VirtualCluster::finish_epoch() {
  SimulatedEpoch epoch = epoch_;
  epoch.seconds = now_ - epoch_began_;
  epoch.moved = rows_ > 0 ? static_cast<double>(moved_) / static_cast<double>(rows_) : 0;
  epoch.imbalance = steps_ > 0 ? epoch.imbalance / static_cast<double>(steps_) : 1;
  epoch_ = {};
  epoch_began_ = now_;
  rows_ = moved_ = steps_ = 0;
  return epoch;
}

}  // namespace forebay
