#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/job.h"
#include "cluster/simulated/simulated_network.h"
#include "stream/ranks/stream_group.h"
#include "stream/ranks/stream_service.h"

namespace forebay {

inline const JobPass kRanksPass{"a-token-that-is-long-enough", 1};

/// "rank0:1", "rank1:1", … for so many ranks.
inline std::vector<std::string> rank_addresses(int ranks) {
  std::vector<std::string> addresses;
  for (int rank = 0; rank < ranks; ++rank) addresses.push_back("rank" + std::to_string(rank) + ":1");
  return addresses;
}

/// A rank of a job over that network, with this service.
inline std::shared_ptr<Job> rank_job(SimulatedNetwork& network, int rank, int ranks,
                                     std::shared_ptr<StreamService> service) {
  const std::vector<std::string> addresses = rank_addresses(ranks);
  const auto way = static_rendezvous(addresses, kRanksPass.token, kRanksPass.generation);
  return *Job::open({.transport = network.transport(),
                     .rank = rank,
                     .own = {addresses[static_cast<size_t>(rank)], kRanksPass},
                     .services = {{std::string(kStreamServiceName), std::move(service)}}},
                    *way, {});
}

inline std::shared_ptr<StreamGroup> rank_of(SimulatedNetwork& network, int rank, int ranks) {
  const auto service = std::make_shared<StreamService>();
  return std::make_shared<StreamGroup>(rank_job(network, rank, ranks, service), service);
}

}  // namespace forebay
