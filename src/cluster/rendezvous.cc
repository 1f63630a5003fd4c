#include "cluster/rendezvous.h"

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "cluster/address.h"
#include "cluster/card_file.h"
#include "cluster/token.h"

namespace forebay {

namespace {

constexpr std::string_view kCardMagic = "forebay-host-1";

class StaticRendezvous final : public Rendezvous {
 public:
  StaticRendezvous(std::vector<std::string> addresses, const std::string& token, uint64_t generation) {
    members_.generation = generation;
    for (std::string& address : addresses) members_.hosts.push_back({std::move(address), 0, token});
  }
  Result<Membership> meet(int, const HostCard&, std::chrono::milliseconds, std::stop_token) override {
    return members_;
  }

 private:
  Membership members_;
};

}  // namespace

std::vector<PeerHost> Membership::peers() const {
  std::vector<PeerHost> all;
  for (const HostCard& host : hosts) all.push_back({host.address, {host.token, generation}});
  return all;
}

std::string card_text(const HostCard& card) {
  return fmt::format("{} {} {} {}\n", kCardMagic, card.address, card.incarnation, card.token);
}

Result<HostCard> parse_card(std::string_view text) {
  const auto wrong = [] {
    return corrupt(
        "expected the card of a host of a job, found something else; remove the file and start the job again");
  };
  if (text.size() > kMaxCardBytes || !text.ends_with('\n')) return wrong();
  std::istringstream words{std::string(text)};
  HostCard card;
  std::string magic, more;
  if (!(words >> magic >> card.address >> card.incarnation >> card.token) || magic != kCardMagic || words >> more)
    return wrong();
  if (!parse_host_port(card.address).ok() || !check_token(card.token).ok()) return wrong();
  return card;
}

std::unique_ptr<Rendezvous> static_rendezvous(std::vector<std::string> addresses, std::string token,
                                              uint64_t generation) {
  return std::make_unique<StaticRendezvous>(std::move(addresses), token, generation);
}

}  // namespace forebay
