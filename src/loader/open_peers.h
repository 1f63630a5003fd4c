#pragma once

#include <memory>
#include <stop_token>

#include "forebay/loader.h"
#include "loader/chosen_samples.h"
#include "loader/distributed.h"
#include "loader/ordering.h"
#include "loader/peers/peer_group.h"
#include "pipeline/description.h"
#include "stream/ranks/decisions.h"

namespace forebay {

/// What a loader's `peers` ask for; null where that is nothing, or where there is one rank. InvalidArgument
/// for addresses that are none or are not one for each rank, and for a token that is missing or too short.
Result<std::shared_ptr<PeerGroup>> open_peers(const PeerOptions& options, const Place& place, std::stop_token stop);

/// The same for the ranks of a stream, which follow rank 0; null where there is one rank. InvalidArgument for several without peers.
Result<std::shared_ptr<Decisions>> open_decisions(const PeerOptions& options, const Place& place, std::stop_token stop);

/// Tells the group what decides which rank gets which samples (PeerGroup::set_run()). Budgets and paths do not.
void tell_run(PeerGroup& peers, const Description& description, const Source& source, const ChosenSamples& chosen,
              const Ordering& ordering, uint64_t seed, int64_t world_size);

/// Elements are at home with whom they are dealt to in epoch 0 (home_by_placement()). The group's caches are those of `plan`.
void set_first_homes(PeerGroup& peers, const ExecutionPlan& plan, const Ordering& ordering,
                     std::shared_ptr<const Selection> selection, const ScheduleOptions& schedule);

}  // namespace forebay
