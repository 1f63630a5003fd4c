#include "loader/open_peers.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "cluster/address.h"
#include "cluster/http/http_peer_transport.h"
#include "cluster/job_tls.h"
#include "cluster/rendezvous.h"
#include "cluster/token.h"
#include "loader/peers/meetings.h"
#include "loader/step_arguments.h"
#include "telemetry/log.h"

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
  for (const std::string& address : options.addresses) {
    if (address.find("://") != std::string::npos)
      return invalid_argument(fmt::format(
          "peers: '{}' is neither \"host:port\" nor a folder that hosts share, which is \"file:///FOLDER\"", address));
  }
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
    if (std::ranges::count(options.addresses, address) > 1)
      return invalid_argument(fmt::format("peers: '{}' is given twice; each rank listens at its own", address));
  }
  FOREBAY_ASSIGN(
      const Membership members,
      static_rendezvous(options.addresses, std::move(token), generation_of(options))->meet(place.rank, {}, {}, {}));
  return members.peers();
}

constexpr std::string_view kFolderScheme = "file://";
constexpr std::chrono::seconds kMeetingDeadline(120);

/// Where this host listens, if nobody else says where, and at which port if any: FOREBAY_CLUSTER_ADDRESS, else what its name is looked up as, or
/// its address on the network.
std::string own_address(const Place& place) {
  constexpr std::string_view kLoopback = "127.0.0.1";
  const char* given = std::getenv("FOREBAY_CLUSTER_ADDRESS");
  const bool is_given = given != nullptr && *given != '\0';
  const std::string address = is_given ? given : own_host_address();
  if (!is_given && address == kLoopback && place.local_ranks < place.world_size)
    log_warning(
        "peers: no address of this host is found that others could reach it by; where ranks are on other hosts, set "
        "FOREBAY_CLUSTER_ADDRESS on each of them");
  return parse_host_port(address).ok() ? address : address + ":0";
}

/// What the user's own way to meet gives.
class GivenRendezvous final : public Rendezvous {
 public:
  GivenRendezvous(const PeerOptions& options, int hosts, uint64_t generation)
      : options_(options), hosts_(hosts), generation_(generation) {}
  Result<Membership> meet(int rank, const HostCard& card, std::chrono::milliseconds, std::stop_token) override {
    FOREBAY_ASSIGN(const std::vector<std::string> cards, options_.gather(card_text(card), rank, hosts_));
    if (cards.size() != static_cast<size_t>(hosts_))
      return corrupt(fmt::format("{} ranks have met, and there are {}", cards.size(), hosts_));
    Membership met{generation_, {}};
    for (const std::string& text : cards) {
      FOREBAY_ASSIGN(HostCard host, parse_card(text));
      met.hosts.push_back(std::move(host));
    }
    return met;
  }

 private:
  const PeerOptions& options_;
  const int hosts_;
  const uint64_t generation_;
};

Result<std::unique_ptr<Rendezvous>> way_to_meet(const PeerOptions& options, const Place& place, uint64_t generation,
                                                std::shared_ptr<const void>* held) {
  const int hosts = place.world_size;
  if (options.gather) return std::unique_ptr<Rendezvous>(std::make_unique<GivenRendezvous>(options, hosts, generation));
  const std::string folder = options.addresses.front().substr(kFolderScheme.size());
  if (!folder.starts_with('/'))
    return invalid_argument(
        fmt::format("'{}' is no folder of this host; give file:///FOLDER", options.addresses.front()));
  MeetingPlace meeting = take_meeting(folder, place.rank, generation);
  *held = std::move(meeting.held);
  return folder_rendezvous(folder, hosts, generation, meeting.number, place.job);
}

// Each host makes a token of its own and hands it out with its address, so that only who meets has it.
template <typename Group>
Result<std::shared_ptr<Group>> meet_and_open(const PeerOptions& options, const Place& place,
                                             std::shared_ptr<Transport> transport, std::stop_token stop) {
  PeerHost own{own_address(place), {{}, generation_of(options)}};
  std::shared_ptr<const void> held;
  FOREBAY_ASSIGN(const std::unique_ptr<Rendezvous> way, way_to_meet(options, place, own.pass.generation, &held));
  FOREBAY_ASSIGN(own.pass.token, new_token());
  // Listens before it meets: the card has the port that the system gave.
  FOREBAY_ASSIGN(std::shared_ptr<Group> group, Group::open(std::move(transport), own));
  const auto started = std::chrono::system_clock::now().time_since_epoch().count();
  const HostCard card{group->address(), static_cast<uint64_t>(started), own.pass.token};
  FOREBAY_ASSIGN(const Membership met, way->meet(place.rank, card, kMeetingDeadline, std::move(stop)));
  group->know(met.peers(), place.rank);
  group->keep_until_closed(std::move(held));
  return group;
}

template <typename Group>
Result<std::shared_ptr<Group>> at_given_addresses(std::vector<PeerHost> hosts, int rank,
                                                  std::shared_ptr<Transport> transport) {
  Result<std::shared_ptr<Group>> opened = Group::open(std::move(transport), hosts[static_cast<size_t>(rank)]);
  if (opened.status().code() == Code::kUnavailable)
    return Status(Code::kUnavailable, opened.status().message() +
                                          ": each loader that is open needs addresses of its own (or "
                                          "peers=\"file:///FOLDER\", where it finds some)");
  FOREBAY_ASSIGN(std::shared_ptr<Group> group, std::move(opened));
  group->know(std::move(hosts), rank);
  return group;
}

// So much of a hash that a message with two of them can be read.
std::string short_hash(const Hash128& hash) { return hash.to_string().substr(0, 12); }

// Of what was chosen: by reading, and which samples these are, as some of them show.
Hash128 hash_of_choice(const Description& description, const ChosenSamples& chosen) {
  constexpr int64_t kLookedAt = 1024;
  const OpSpec* const pack = find_step(description, OpRole::kPack);
  std::string text = chosen.version + (pack == nullptr ? "" : pack->args.dump());
  const int64_t size = chosen.selection->size(), looked_at = std::min(size, kLookedAt);
  for (int64_t i = 0; i < looked_at; ++i) text += fmt::format(" {}", chosen.selection->id_at(size / looked_at * i));
  return hash128(text);
}

bool are_given(const PeerOptions& options) { return !options.addresses.empty() || options.gather; }

// Null where `needed` is not the case; what was given is checked all the same.
template <typename Group>
Result<std::shared_ptr<Group>> open_group(const PeerOptions& options, const Place& place, bool needed,
                                          std::stop_token stop) {
  const bool meets =
      options.gather || (options.addresses.size() == 1 && options.addresses.front().starts_with(kFolderScheme));
  std::vector<PeerHost> hosts;
  if (!meets) {
    FOREBAY_ASSIGN(hosts, static_hosts(options, place));
  }
  Result<std::shared_ptr<const JobTls>> tls = job_tls_from_environment();
  if (!tls.ok()) return Status(tls.status().code(), "peers: " + tls.status().message());
  if (!needed) return std::shared_ptr<Group>();
  std::shared_ptr<Transport> transport = http_peer_transport({.tls = std::move(*tls)});
  Result<std::shared_ptr<Group>> group =
      meets ? meet_and_open<Group>(options, place, std::move(transport), std::move(stop))
            : at_given_addresses<Group>(std::move(hosts), place.rank, std::move(transport));
  if (!group.ok())
    return Status(group.status().code(), "peers: " + group.status().message()).with_key(group.status().key());
  return group;
}

}  // namespace

Result<std::shared_ptr<PeerGroup>> open_peers(const PeerOptions& options, const Place& place, std::stop_token stop) {
  if (!are_given(options)) return std::shared_ptr<PeerGroup>();
  // Also without a cache: who has one and who has none have other deals, and would not be told else.
  return open_group<PeerGroup>(options, place, place.world_size > 1, std::move(stop));
}

Result<std::shared_ptr<Decisions>> open_decisions(const PeerOptions& options, const Place& place,
                                                  std::stop_token stop) {
  if (place.world_size > 1 && !are_given(options))
    return invalid_argument(
        fmt::format("the {} ranks of a stream must hear from rank 0 which records come next: give peers=, such as "
                    "\"launcher\" or a folder that they share",
                    place.world_size));
  if (!are_given(options)) return std::shared_ptr<Decisions>();
  return open_group<Decisions>(options, place, place.world_size > 1, std::move(stop));
}

void tell_run(PeerGroup& peers, const Description& description, const Source& source, const ChosenSamples& chosen,
              const Ordering& ordering, uint64_t seed, int64_t world_size) {
  const OpSpec* const shuffle = find_step(description, OpRole::kOrder);
  const OpSpec* const batch = find_step(description, OpRole::kBatch);
  std::string order = shuffle == nullptr ? "none" : "given";
  if (shuffle != nullptr && ordering.in_groups)
    order =
        fmt::format("block {}, lanes {}{}", ordering.block, ordering.lanes, bool_arg(*shuffle, "ramp") ? ", ramp" : "");
  peers.set_run({{{"seed", fmt::format("{}", seed)},
                  {"batch size", fmt::format("{}", batch_size(description))},
                  {"last", batch == nullptr ? "partial" : batch->args.value("last", "partial")},
                  {"ranks", fmt::format("{}", world_size)},
                  {"shuffle", std::move(order)},
                  {"deal", ordering.dealt},
                  {"samples", fmt::format("{}", chosen.size())},
                  {"data set", short_hash(source.version())},
                  {"choice of samples", short_hash(hash_of_choice(description, chosen))}}});
}

void set_first_homes(PeerGroup& peers, const ExecutionPlan& plan, const Ordering& ordering,
                     std::shared_ptr<const Selection> selection, const ScheduleOptions& schedule) {
  PlacementOptions options{.hosts = {schedule.world_size, 1},
                           .batch_size = schedule.batch_size,
                           .lanes = ordering.lanes,
                           .pads = schedule.last == LastPolicy::kPad};
  HomeInput input{std::make_shared<const Placement>(ordering.order, std::move(options)), std::move(selection)};
  if (plan.units && plan.units->cache) input.units = plan.units->source;
  peers.set_versions(plan.source);
  peers.set_home(home_by_placement(std::move(input)));
  peers.stands_at(0, 0);
}

}  // namespace forebay
