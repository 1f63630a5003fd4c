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

/// Joins the ranks of a data set's loader, with a service for their cache entries. Returns null and
/// errors as open_job() does.
Result<std::shared_ptr<PeerGroup>> open_peers(const PeerOptions& options, const RankInfo& rank_info,
                                              std::stop_token stop);

/// Sets the run settings of the job (Job::set_run()): the settings that decide which rank gets
/// which samples. Budgets and paths do not decide it.
void set_run_settings(Job& job, const Description& description, const Source& source, const ChosenSamples& chosen,
                      const Ordering& ordering, uint64_t seed, int64_t world_size);

/// Makes the rank that gets an element in epoch 0 its owner (owner_by_placement()). The caches of
/// the group are those of `plan`.
void set_owners(PeerGroup& peers, const ExecutionPlan& plan, const Ordering& ordering,
                std::shared_ptr<const Selection> selection, const ScheduleOptions& schedule);

}  // namespace forebay
