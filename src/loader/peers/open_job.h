#pragma once

#include <memory>
#include <stop_token>

#include "cluster/job.h"
#include "forebay/loader.h"
#include "loader/peers/distributed.h"

namespace forebay {

/// Whether `peers=` is set, so that the ranks of the job connect to each other.
inline bool peers_requested(const PeerOptions& options) { return !options.addresses.empty() || options.gather; }

/// Connects the ranks of a job over HTTP, as `peers=` says, and serves `services` to them. Blocks
/// until all ranks are connected; `stop` ends the wait. Returns null if `peers=` is not set, or if
/// there is only one rank. The caller owns the job and closes it. InvalidArgument if an address is
/// malformed or their number is not that of the ranks, or if the token is missing or too short.
/// Also returns the errors of Job::open().
Result<std::shared_ptr<Job>> open_job(const PeerOptions& options, const RankInfo& rank_info, Services services,
                                      std::stop_token stop);

}  // namespace forebay
