#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "cluster/transport.h"
#include "forebay/result.h"

namespace forebay {

/// What a host tells the others of its job: some 200 bytes.
struct HostCard {
  std::string address;       ///< "host:port", where it listens already
  uint64_t incarnation = 0;  ///< another one for each start of the process
  std::string token;         ///< what it wants to be shown
};

/// The hosts of a job, as they were when they met. Who of them is alive is advice (PeerHealth), and never an input of the plan; somebody who
/// joins or comes back belongs to a new generation.
struct Membership {
  uint64_t generation = 0;
  std::vector<HostCard> hosts;  ///< by rank

  /// How they are reached.
  std::vector<PeerHost> peers() const;
};

/// One all-gather a generation: each host gives its card and gets those of all.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  /// Waits until all have come. Unavailable after `deadline`, with the ranks that are missing; Cancelled after a stop.
  virtual Result<Membership> meet(int rank, const HostCard& card, std::chrono::milliseconds deadline,
                                  std::stop_token stop) = 0;
};

/// Hosts whose addresses are known beforehand, one for each rank, with one token: nobody waits for anybody.
std::unique_ptr<Rendezvous> static_rendezvous(std::vector<std::string> addresses, std::string token,
                                              uint64_t generation);

/// Hosts that meet in a folder they share, which is this job's alone unless it has a name: each writes a file of its card, readable by its user alone, which is there
/// whole or not at all. Files of other generations do no harm. A card that is older than this host's own may be of an earlier run: for a quarter of
/// the deadline it is not believed until its host, which writes its card again when it sees somebody new, or a later start of that rank has
/// written it, or somebody listens at its address (asked each second): a rank that is started anew alone meets those who met before. Then it is: a host
/// that is gone is taken for one that is away.
/// `meeting`: which of several that this job has in that folder at a time. The log names who has not come after some seconds.
/// `job`: the same on all hosts, and another one for each job and each start of it; then others may be in the folder, and what they left does not
/// count. Empty: nobody knows one.
std::unique_ptr<Rendezvous> folder_rendezvous(std::string folder, int hosts, uint64_t generation, int meeting = 0,
                                              const std::string& job = {});

/// A card as text and back; Corrupt for what is none.
std::string card_text(const HostCard& card);
Result<HostCard> parse_card(std::string_view text);

}  // namespace forebay
