#pragma once

#include <memory>
#include <stop_token>

#include "cluster/job.h"
#include "forebay/loader.h"
#include "loader/peers/distributed.h"

namespace forebay {

/// Whether `peers=` says how the ranks of the job find each other.
inline bool are_given(const PeerOptions& options) { return !options.addresses.empty() || options.gather; }

/// Makes a loader one of the ranks of its job, as its `peers=` says, over HTTP. Null where that says nothing, and
/// where there is one rank. Waits until all ranks have met. InvalidArgument for addresses that are none or
/// are not one for each rank, and for a token that is missing or too short; errors of Job::open().
Result<std::shared_ptr<Job>> open_job(const PeerOptions& options, const Place& place, Services services,
                                      std::stop_token stop);

}  // namespace forebay
