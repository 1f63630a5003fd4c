#include "store/http/connection_openings.h"

#include <algorithm>
#include <iterator>

#include "store/http/curl_transfer.h"

namespace forebay {

namespace {
// Limit of servers remembered without transfers, so that a manifest of many hosts does not grow the
// map forever. Servers with transfers are always remembered.
constexpr size_t kRememberedServers = 4096;
constexpr int kMaxDoublings = 10;
}  // namespace

bool ConnectionOpenings::try_open(const Server& server, const CurlTransfer* transfer, const Load& load,
                                  Clock::time_point now) {
  if (servers_.size() >= kRememberedServers && !servers_.contains(server)) forget_idle();
  State& state = servers_[server];
  if (state.http1) return true;
  const auto is_transfer = [&](const Opener& opener) { return opener.transfer == transfer; };
  if (std::ranges::any_of(state.openers, is_transfer)) return true;
  const size_t opened = state.openers.size();
  if (opened == 0) learn(state, load);
  // This transfer, the waiting ones, and one for each opener, which occupies a stream of its own
  // connection.
  const size_t wanted = opened + state.waiting.size() + 1;
  // The number of simultaneous attempts doubles with each failure, so that all waiting transfers of
  // an unreachable server soon fail.
  const bool more =
      state.takes > 0 ? opened * state.takes < wanted : opened < size_t{1} << std::min(state.failures, kMaxDoublings);
  if (more) state.openers.push_back({transfer, now});
  return more;
}

// A connection is opened only if no other has a free stream, so the fullest one shows how many a
// connection takes. A single request on a single connection shows this only if the protocol is not
// known to allow more: that may be a connection that the server is about to close.
void ConnectionOpenings::learn(State& state, const Load& load) {
  const bool tells = load.most > 1 || load.connections > 1 || !state.http2;
  if (tells) state.takes = std::max(state.takes, load.most);
}

bool ConnectionOpenings::has_no_opener(const Server& server) const {
  const auto found = servers_.find(server);
  return found == servers_.end() || found->second.openers.empty();
}

void ConnectionOpenings::wait(const Server& server, Transfer transfer) {
  servers_[server].waiting.push_back(std::move(transfer));
}

void ConnectionOpenings::connected(const Server& server, const CurlTransfer* transfer, Clock::time_point now) {
  const auto found = servers_.find(server);
  if (found == servers_.end()) return;
  for (Opener& opener : found->second.openers) {
    // Name, TCP and TLS took several round trips; the server's SETTINGS (RFC 9113, section 3.4)
    // arrive within one more.
    if (opener.transfer == transfer) opener.ready_at = now + (now - opener.began);
  }
}

std::vector<ConnectionOpenings::Transfer> ConnectionOpenings::answered(const Server& server,
                                                                       const CurlTransfer* transfer,
                                                                       int major_version) {
  const auto found = servers_.find(server);
  if (found == servers_.end()) return {};
  State& state = found->second;
  state.http2 = major_version >= 2;
  state.http1 = !state.http2;
  state.failures = 0;
  // The number was learned from HTTP/2.
  if (state.http1) state.takes = 0;
  return resume(state, std::erase_if(state.openers, [&](const Opener& opener) { return opener.transfer == transfer; }));
}

std::vector<ConnectionOpenings::Transfer> ConnectionOpenings::ended(const Server& server,
                                                                    const CurlTransfer* transfer) {
  const auto found = servers_.find(server);
  if (found == servers_.end()) return {};
  State& state = found->second;
  const size_t gone = std::erase_if(state.openers, [&](const Opener& opener) { return opener.transfer == transfer; });
  // No answer began on the connection, so it may not accept requests: the waiting transfers try by
  // themselves.
  if (gone > 0) ++state.failures;
  return gone > 0 ? std::exchange(state.waiting, {}) : std::vector<Transfer>();
}

std::vector<ConnectionOpenings::Transfer> ConnectionOpenings::due(Clock::time_point now) {
  std::vector<Transfer> all;
  for (auto& [server, state] : servers_) {
    const size_t ready =
        std::erase_if(state.openers, [&](const Opener& opener) { return opener.ready_at && *opener.ready_at <= now; });
    std::ranges::move(resume(state, ready), std::back_inserter(all));
  }
  return all;
}

std::optional<ConnectionOpenings::Clock::time_point> ConnectionOpenings::next_due() const {
  std::optional<Clock::time_point> next;
  for (const auto& [server, state] : servers_) {
    for (const Opener& opener : state.openers) {
      if (opener.ready_at) next = next ? std::min(*next, *opener.ready_at) : *opener.ready_at;
    }
  }
  return next;
}

bool ConnectionOpenings::has_waiting() const {
  return std::ranges::any_of(servers_, [](const auto& server) { return !server.second.waiting.empty(); });
}

// Returns as many transfers as the new connections take in addition to their openers.
std::vector<ConnectionOpenings::Transfer> ConnectionOpenings::resume(State& state, size_t openers) {
  const size_t room = state.takes > 0 ? openers * (state.takes - 1) : state.waiting.size();
  const bool all = state.http1 || (openers > 0 && state.openers.empty());
  const size_t count = all ? state.waiting.size() : openers == 0 ? 0 : std::min(room, state.waiting.size());
  const auto end = state.waiting.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Transfer> going(std::make_move_iterator(state.waiting.begin()), std::make_move_iterator(end));
  state.waiting.erase(state.waiting.begin(), end);
  return going;
}

void ConnectionOpenings::forget_idle() {
  std::erase_if(servers_, [](const auto& server) { return server.second.idle(); });
}

}  // namespace forebay
