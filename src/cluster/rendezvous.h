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

/// The card that a host publishes to the others of its job, about 200 bytes.
struct HostCard {
  std::string address;       ///< "host:port" of its open listener
  uint64_t incarnation = 0;  ///< differs for each start of the process
  std::string token;         ///< token that callers must present
};

/// The hosts of a job as they were when they met. Which of them is alive is advice (PeerHealth),
/// and never an input of the plan. A host that joins later or restarts belongs to a new generation.
struct Membership {
  uint64_t generation = 0;
  std::vector<HostCard> hosts;  ///< by rank

  /// Returns the addresses and passes by which the hosts are called.
  std::vector<PeerHost> peers() const;
};

/// An all-gather, once a generation: each host gives its card and gets the cards of all.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  /// Waits until all hosts have come. Unavailable after `deadline`, with the missing ranks;
  /// Cancelled after a stop.
  virtual Result<Membership> meet(int rank, const HostCard& card, std::chrono::milliseconds deadline,
                                  std::stop_token stop) = 0;
};

/// Returns a rendezvous of hosts whose addresses are known beforehand, one for each rank, with one
/// token. It never waits.
std::unique_ptr<Rendezvous> static_rendezvous(std::vector<std::string> addresses, std::string token,
                                              uint64_t generation);

/// Returns a rendezvous in a folder that all hosts share. Each host writes its card to a file that
/// only its user can read; the file appears complete or not at all. Files of other generations are
/// ignored. The folder belongs to this job alone unless `job` is given.
///
/// A card older than this host's own may come from an earlier run. It is in doubt for a quarter of
/// the deadline, until it is written again or a server listens at its address (tried each second).
/// A host writes its card again when it sees a new host, and so does a later start of that rank; so
/// a rank that restarts alone meets the ranks that have already met. After that time the card is
/// accepted, and its host counts as unavailable if it is gone.
///
/// `meeting` distinguishes several meetings of one job in the folder. `job` identifies the job and
/// its start, the same on all hosts: files of other jobs in the folder are then ignored. Empty if
/// no such name is known. The log names the missing ranks after some seconds.
std::unique_ptr<Rendezvous> folder_rendezvous(std::string folder, int hosts, uint64_t generation, int meeting = 0,
                                              const std::string& job = {});

/// Converts a card to text and back. Other text is Corrupt.
std::string card_text(const HostCard& card);
Result<HostCard> parse_card(std::string_view text);

}  // namespace forebay
