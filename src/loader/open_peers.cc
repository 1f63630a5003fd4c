#include "loader/open_peers.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "cluster/address.h"
#include "cluster/http/http_peer_transport.h"
#include "cluster/token.h"
#include "loader/step_arguments.h"

namespace forebay {

namespace {

// torchrun starts all ranks anew when one has died: hosts of before are strangers then.
uint64_t generation_of(const PeerOptions& options) {
  if (options.generation) return *options.generation;
  uint64_t restarts = 0;
  const char* count = std::getenv("TORCHELASTIC_RESTART_COUNT");
  if (count != nullptr) std::from_chars(count, count + std::string_view(count).size(), restarts);
  return restarts;
}

Result<std::string> token_of(const PeerOptions& options) {
  std::string token = options.token;
  if (token.empty()) {
    FOREBAY_ASSIGN(token, token_from_environment());
  }
  if (token.empty())
    return invalid_argument(
        "peers: the hosts of a job tell each other from strangers by a token; give all of them the same "
        "FOREBAY_CLUSTER_TOKEN (`openssl rand -hex 16` makes one), or FOREBAY_CLUSTER_TOKEN_FILE");
  FOREBAY_RETURN_IF_ERROR(check_token(token));
  return token;
}

Result<std::vector<PeerHost>> static_hosts(const PeerOptions& options, const Place& place) {
  if (options.addresses.size() != static_cast<size_t>(place.world_size))
    return invalid_argument(
        fmt::format("peers: {} addresses for {} ranks; give one \"host:port\" for each rank, in their order",
                    options.addresses.size(), place.world_size));
  JobPass pass;
  FOREBAY_ASSIGN(pass.token, token_of(options));
  pass.generation = generation_of(options);
  std::vector<PeerHost> hosts;
  for (const std::string& address : options.addresses) {
    const Result<HostPort> at = parse_host_port(address);
    if (!at.ok()) return invalid_argument("peers: " + at.status().message());
    if (at->port == 0)
      return invalid_argument(fmt::format("peers: '{}' has no port that others could ask at", address));
    hosts.push_back({address, pass});
  }
  return hosts;
}

}  // namespace

Result<std::shared_ptr<PeerGroup>> open_peers(const PeerOptions& options, const Place& place,
                                              const Description& description, std::stop_token) {
  if (options.addresses.empty()) return std::shared_ptr<PeerGroup>();
  FOREBAY_ASSIGN(std::vector<PeerHost> hosts, static_hosts(options, place));
  if (place.world_size == 1 || find_step(description, OpRole::kKeep) == nullptr) return std::shared_ptr<PeerGroup>();
  Result<std::shared_ptr<PeerGroup>> group = PeerGroup::open(http_peer_transport(), {std::move(hosts), place.rank});
  if (!group.ok()) return Status(group.status().code(), "peers: " + group.status().message());
  return group;
}

void set_first_homes(PeerGroup& peers, const ExecutionPlan& plan, const Ordering& ordering,
                     std::shared_ptr<const Selection> selection, const ScheduleOptions& schedule) {
  HomeInput input{ordering.order, std::move(selection), schedule, ordering.lanes};
  if (plan.units && plan.units->cache) input.units = plan.units->source;
  peers.set_home(home_by_first_epoch(std::move(input)));
}

}  // namespace forebay
