#pragma once

#include <memory>
#include <stop_token>

#include "forebay/loader.h"
#include "loader/compile/ordering.h"
#include "loader/peers/distributed.h"
#include "loader/peers/peer_group.h"
#include "loader/samples/chosen_samples.h"
#include "pipeline/description.h"

namespace forebay {

/// Connects the ranks of a data set's loader, each with a service for its cache entries. Called
/// once when the loader is opened. Returns null and errors as open_job() does.
Result<std::shared_ptr<PeerGroup>> open_peers(const PeerOptions& options, const RankInfo& rank_info,
                                              std::stop_token stop);

/// Publishes the settings that decide which rank gets which samples (Job::set_run()). The job then
/// detects ranks whose settings differ. Budgets and paths are left out, since they may differ.
void set_run_settings(Job& job, const Description& description, const Source& source, const ChosenSamples& chosen,
                      const Ordering& ordering, const std::string& assignment, uint64_t seed, int64_t world_size);

/// Assigns each cache entry of `plan` to an owner: the rank that gets the element in epoch 0
/// (owner_by_placement()). Peers may request entries from then on.
void set_owners(PeerGroup& peers, const BranchPlan& plan, const Ordering& ordering,
                std::shared_ptr<const Selection> selection, const ScheduleOptions& schedule);

}  // namespace forebay
