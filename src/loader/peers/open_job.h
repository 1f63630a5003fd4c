#pragma once

#include <memory>
#include <stop_token>

#include "cluster/job.h"
#include "forebay/loader.h"
#include "loader/peers/distributed.h"

namespace forebay {

/// Whether `peers=` says how the ranks of the job find each other.
inline bool peers_requested(const PeerOptions& options) { return !options.addresses.empty() || options.gather; }

/// Joins the ranks of a job over HTTP, as `peers=` says. Null if `peers=` is not given, or if there
/// is only one rank. Blocks until all ranks have met. InvalidArgument if an address is malformed or
/// their number is not that of the ranks, or if the token is missing or too short. Also returns the
/// errors of Job::open().
Result<std::shared_ptr<Job>> open_job(const PeerOptions& options, const RankInfo& rank_info, Services services,
                                      std::stop_token stop);

}  // namespace forebay
