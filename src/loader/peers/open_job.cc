#include "loader/peers/open_job.h"

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
#include "telemetry/log.h"

namespace forebay {

namespace {

// torchrun restarts all ranks when one has died. The generation keeps the new ranks from joining
// hosts of the earlier start.
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

constexpr std::string_view kFolderScheme = "file://";

// Checks that there is one valid address for each rank.
Status check_addresses(const PeerOptions& options, const RankInfo& rank_info) {
  for (const std::string& address : options.addresses) {
    if (address.starts_with(kFolderScheme))
      return invalid_argument(
          fmt::format("peers: '{}' is one of {} addresses; a folder that hosts share is given alone, for all ranks",
                      address, options.addresses.size()));
    if (address.find("://") != std::string::npos)
      return invalid_argument(fmt::format(
          "peers: '{}' is neither \"host:port\" nor a folder that hosts share, which is \"file:///FOLDER\"", address));
  }
  if (options.addresses.size() != static_cast<size_t>(rank_info.world_size))
    return invalid_argument(
        fmt::format("peers: {} addresses for {} ranks; give one \"host:port\" for each rank, in their order",
                    options.addresses.size(), rank_info.world_size));
  FOREBAY_RETURN_IF_ERROR(token_of(options).status());
  for (const std::string& address : options.addresses) {
    const Result<HostPort> at = parse_host_port(address);
    if (!at.ok()) return invalid_argument("peers: " + at.status().message());
    if (at->port == 0)
      return invalid_argument(fmt::format("peers: '{}' has no port that others could ask at", address));
    if (std::ranges::count(options.addresses, address) > 1)
      return invalid_argument(fmt::format("peers: '{}' is given twice; each rank listens at its own", address));
  }
  return {};
}

constexpr std::chrono::seconds kMeetingDeadline(120);

/// Address at which this host listens unless the user gave one, with a port if there is one:
/// FOREBAY_CLUSTER_ADDRESS, else the address of the host's name, or its address on the network.
std::string own_address(const RankInfo& rank_info) {
  constexpr std::string_view kLoopback = "127.0.0.1";
  const char* given = std::getenv("FOREBAY_CLUSTER_ADDRESS");
  const bool is_given = given != nullptr && *given != '\0';
  const std::string address = is_given ? given : own_host_address();
  if (!is_given && address == kLoopback && rank_info.local_ranks < rank_info.world_size)
    log_warning(
        "peers: no address of this host is found that others could reach it by; where ranks are on other hosts, set "
        "FOREBAY_CLUSTER_ADDRESS on each of them");
  return parse_host_port(address).ok() ? address : address + ":0";
}

/// Rendezvous that exchanges the cards of the hosts through the user's PeerOptions::gather.
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

// Whether the ranks learn each other's addresses at run time, from a shared folder or gather().
bool discovers_peers(const PeerOptions& options) {
  return options.gather || (options.addresses.size() == 1 && options.addresses.front().starts_with(kFolderScheme));
}

std::string rendezvous_folder(const PeerOptions& options) {
  return options.addresses.front().substr(kFolderScheme.size());
}

// Checks the folder. Called for a single rank too, so that its options are not wrong silently.
Status check_discovery(const PeerOptions& options) {
  if (options.gather || rendezvous_folder(options).starts_with('/')) return {};
  return invalid_argument(
      fmt::format("peers: '{}' is no folder of this host; give file:///FOLDER", options.addresses.front()));
}

struct OpenedRendezvous {
  std::unique_ptr<Rendezvous> rendezvous;
  std::shared_ptr<const void> reservation;  ///< of a folder's slot, which the job holds; else null
};
OpenedRendezvous open_rendezvous(const PeerOptions& options, const RankInfo& rank_info, uint64_t generation) {
  const int hosts = rank_info.world_size;
  if (options.gather) return {std::make_unique<GivenRendezvous>(options, hosts, generation), nullptr};
  const std::string folder = rendezvous_folder(options);
  MeetingSlot slot = reserve_meeting(folder, rank_info.rank, generation);
  return {folder_rendezvous(folder, hosts, generation, slot.number, rank_info.job), std::move(slot.held)};
}

// Each rank creates its own token and publishes it with its address, so only ranks of this
// rendezvous know it.
Result<std::shared_ptr<Job>> open_by_discovery(const PeerOptions& options, const RankInfo& rank_info,
                                               MembershipOptions job, std::stop_token stop) {
  job.own.address = own_address(rank_info);
  OpenedRendezvous opened = open_rendezvous(options, rank_info, job.own.pass.generation);
  job.held = std::move(opened.reservation);
  FOREBAY_ASSIGN(job.own.pass.token, new_token());
  return Job::open(std::move(job), *opened.rendezvous, std::move(stop));
}

Result<std::shared_ptr<Job>> open_at_addresses(const PeerOptions& options, MembershipOptions job,
                                               std::stop_token stop) {
  job.own.address = options.addresses[static_cast<size_t>(job.rank)];
  FOREBAY_ASSIGN(job.own.pass.token, token_of(options));
  const auto all = static_rendezvous(options.addresses, job.own.pass.token, job.own.pass.generation);
  Result<std::shared_ptr<Job>> opened = Job::open(std::move(job), *all, std::move(stop));
  if (opened.status().code() != Code::kUnavailable) return opened;
  return Status(Code::kUnavailable, opened.status().message() +
                                        ": each loader that is open needs addresses of its own (or "
                                        "peers=\"file:///FOLDER\", where it finds some)");
}

}  // namespace

Result<std::shared_ptr<Job>> open_job(const PeerOptions& options, const RankInfo& rank_info, Services services,
                                      std::stop_token stop) {
  if (!peers_requested(options)) return std::shared_ptr<Job>();
  FOREBAY_RETURN_IF_ERROR(discovers_peers(options) ? check_discovery(options) : check_addresses(options, rank_info));
  Result<std::shared_ptr<const JobTls>> tls = job_tls_from_environment();
  if (!tls.ok()) return Status(tls.status().code(), "peers: " + tls.status().message());
  // A single rank has no job; its options were still checked.
  if (rank_info.world_size == 1) return std::shared_ptr<Job>();
  MembershipOptions job{.transport = http_peer_transport({.tls = std::move(*tls)}),
                        .rank = rank_info.rank,
                        .own = {{}, {{}, generation_of(options)}},
                        .services = std::move(services),
                        .deadline = kMeetingDeadline};
  Result<std::shared_ptr<Job>> opened = discovers_peers(options)
                                            ? open_by_discovery(options, rank_info, std::move(job), std::move(stop))
                                            : open_at_addresses(options, std::move(job), std::move(stop));
  if (opened.ok()) return opened;
  return Status(opened.status().code(), "peers: " + opened.status().message()).with_key(opened.status().key());
}

}  // namespace forebay
