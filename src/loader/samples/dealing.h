#pragma once

#include <cstdint>
#include <optional>

#include "forebay/loader.h"
#include "loader/compile/ordering.h"
#include "pipeline/description.h"
#include "plan/schedule.h"

namespace forebay {

/// How ranks are to share the rows of a global batch. Every rank has to say the same.
struct DealRequest {
  ShardBy shard_by = ShardBy::kAuto;
  std::optional<int> hosts = {};  ///< given by the user
  int known_hosts = 0;            ///< Place::hosts
};

/// Checks `shard_by=` and `hosts=` against the number of ranks. InvalidArgument for hosts that are none, or more than ranks.
Status check_deal(const DealRequest& request, int64_t world_size);

/// Where ranks are to take what they keep, replaces the deal of `ordering` by one by place. Row groups are dealt by lane whatever is asked
/// for: a deal row by row would have each of them decoded on many hosts.
///
/// What keeps a sample is a host where a cache is on disk, and a process where caches are in memory alone. All that goes into the deal
/// (pipeline, `hosts=`, what the launcher says to all ranks alike) is the same on every rank; sizes of caches and machines are left
/// out, so every sample counts as kept by the one that reads it first. kAuto is kLocality where the pipeline has a `.cache()` and it is
/// known what keeps what, else kCount.
///
/// InvalidArgument where kLocality is asked for and nobody says how many hosts there are.
Status choose_deal(const Description& description, const ScheduleOptions& schedule, const DealRequest& request,
                   Ordering* ordering);

}  // namespace forebay
