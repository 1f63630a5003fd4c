#pragma once

#include <memory>
#include <stop_token>

#include "forebay/loader.h"
#include "loader/peers/distributed.h"
#include "loader/peers/peer_group.h"
#include "loader/samples/data_plan.h"
#include "loader/samples/open_schedule.h"
#include "pipeline/description.h"
#include "pipeline/execution_plan.h"

namespace forebay {

/// Connects the ranks of a data set's loader, each with a service for its cache entries. Called
/// once when the loader is opened. Returns null and errors as open_job() does.
Result<std::shared_ptr<PeerGroup>> open_peers(const PeerOptions& options, const RankInfo& rank_info,
                                              std::stop_token stop);

/// Publishes the settings that decide which rank gets which samples (Job::set_run()). The job then
/// detects ranks whose settings differ. Budgets and paths are left out, since they may differ.
void set_run_settings(Job& job, const Description& description, const Source& source, const DataPlan& data,
                      const std::string& assignment, uint64_t seed, int64_t world_size);

/// Numbers the elements of all branches.
std::shared_ptr<const ElementNumbers> number_elements(const DataPlan& data);
/// Returns the elements that caches have, by branch. `plan` is of the same branches.
std::vector<OwnedElements> cached_elements(const ExecutionPlan& plan, const DataPlan& data);
/// Assigns each cache entry to an owner: the rank that gets the element first (owner_in_plan()).
/// Peers may request entries from then on. Call it again when the plan of `data` has changed.
void set_owners(PeerGroup& peers, std::vector<OwnedElements> elements, const DataPlan& data, const JobSteps& steps);

}  // namespace forebay
