#include "loader/open_peers.h"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "cluster/address.h"
#include "cluster/http/http_peer_transport.h"
#include "cluster/rendezvous.h"
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
  FOREBAY_ASSIGN(std::string token, token_of(options));
  for (const std::string& address : options.addresses) {
    const Result<HostPort> at = parse_host_port(address);
    if (!at.ok()) return invalid_argument("peers: " + at.status().message());
    if (at->port == 0)
      return invalid_argument(fmt::format("peers: '{}' has no port that others could ask at", address));
  }
  FOREBAY_ASSIGN(
      const Membership members,
      static_rendezvous(options.addresses, std::move(token), generation_of(options))->meet(place.rank, {}, {}, {}));
  return members.peers();
}

constexpr std::string_view kFolderScheme = "file://";
constexpr std::chrono::seconds kMeetingDeadline(120);

/// Where this host listens, if nobody else says where, and at which port if any: FOREBAY_CLUSTER_ADDRESS, else what its name is looked up as.
std::string own_address() {
  const char* given = std::getenv("FOREBAY_CLUSTER_ADDRESS");
  const std::string address = given != nullptr && *given != '\0' ? given : own_host_address();
  return parse_host_port(address).ok() ? address : address + ":0";
}

// A token that is not the user's is handed out with the address, so that only who reads the folder has it.
Result<std::shared_ptr<PeerGroup>> meet_in_folder(const PeerOptions& options, const Place& place,
                                                  std::stop_token stop) {
  const std::string folder = options.addresses.front().substr(kFolderScheme.size());
  if (!folder.starts_with('/'))
    return invalid_argument(
        fmt::format("'{}' is no folder of this host; give file:///FOLDER", options.addresses.front()));
  PeerHost own{own_address(), {{}, generation_of(options)}};
  FOREBAY_ASSIGN(own.pass.token, new_token());
  FOREBAY_ASSIGN(std::shared_ptr<PeerGroup> group, PeerGroup::open(http_peer_transport(), own));
  const auto started = std::chrono::system_clock::now().time_since_epoch().count();
  const HostCard card{group->address(), static_cast<uint64_t>(started), own.pass.token};
  FOREBAY_ASSIGN(const Membership met, folder_rendezvous(folder, place.world_size, own.pass.generation)
                                           ->meet(place.rank, card, kMeetingDeadline, std::move(stop)));
  group->know(met.peers(), place.rank);
  return group;
}

Result<std::shared_ptr<PeerGroup>> at_given_addresses(std::vector<PeerHost> hosts, int rank) {
  FOREBAY_ASSIGN(std::shared_ptr<PeerGroup> group,
                 PeerGroup::open(http_peer_transport(), hosts[static_cast<size_t>(rank)]));
  group->know(std::move(hosts), rank);
  return group;
}

}  // namespace

Result<std::shared_ptr<PeerGroup>> open_peers(const PeerOptions& options, const Place& place,
                                              const Description& description, std::stop_token stop) {
  if (options.addresses.empty()) return std::shared_ptr<PeerGroup>();
  const bool in_folder = options.addresses.size() == 1 && options.addresses.front().starts_with(kFolderScheme);
  std::vector<PeerHost> hosts;
  if (!in_folder) {
    FOREBAY_ASSIGN(hosts, static_hosts(options, place));
  }
  if (place.world_size == 1 || find_step(description, OpRole::kKeep) == nullptr) return std::shared_ptr<PeerGroup>();
  Result<std::shared_ptr<PeerGroup>> group =
      in_folder ? meet_in_folder(options, place, std::move(stop)) : at_given_addresses(std::move(hosts), place.rank);
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
