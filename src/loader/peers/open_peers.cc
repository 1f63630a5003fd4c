#include "loader/peers/open_peers.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "loader/describe/step_arguments.h"
#include "loader/peers/entry_owner.h"
#include "loader/peers/open_job.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

// Shortens a hash so that a message with two of them stays readable.
std::string short_hash(const Hash128& hash) { return hash.to_string().substr(0, 12); }

// Identifies the chosen samples: choices that depend on data that was read, and some ids.
Hash128 hash_of_choice(const Description& description, const ChosenSamples& chosen) {
  constexpr int64_t kLookedAt = 1024;
  const OpSpec* const pack = find_step(description, OpEffect::kPacking);
  std::string text = chosen.version + (pack == nullptr ? "" : pack->args.dump());
  const int64_t size = chosen.selection->size(), looked_at = std::min(size, kLookedAt);
  for (int64_t i = 0; i < looked_at; ++i) text += fmt::format(" {}", chosen.selection->id_at(size / looked_at * i));
  return hash128(text);
}

}  // namespace

Result<std::shared_ptr<PeerGroup>> open_peers(const PeerOptions& options, const RankInfo& rank_info,
                                              std::stop_token stop) {
  const auto peers = std::make_shared<PeerGroup>();
  // Joins the job without a cache too. A cache may change the shard assignment, and the check of
  // the run detects ranks that differ.
  FOREBAY_ASSIGN(std::shared_ptr<Job> job,
                 open_job(options, rank_info, {{std::string(kEntryServiceName), peers->service()}}, std::move(stop)));
  if (!job) return std::shared_ptr<PeerGroup>();
  peers->join_job(std::move(job));
  return peers;
}

void set_run_settings(Job& job, const Description& description, const Source& source, const ChosenSamples& chosen,
                      const Ordering& ordering, const std::string& assignment, uint64_t seed, int64_t world_size) {
  const OpSpec* const shuffle = find_step(description, OpEffect::kOrder);
  const OpSpec* const batch = find_step(description, OpEffect::kBatching);
  std::string order = shuffle == nullptr ? "none" : "given";
  if (shuffle != nullptr && ordering.in_groups)
    order =
        fmt::format("block {}, lanes {}{}", ordering.block, ordering.lanes, bool_arg(*shuffle, "ramp") ? ", ramp" : "");
  job.set_run({{{"seed", fmt::format("{}", seed)},
                {"batch size", fmt::format("{}", batch_size(description))},
                {"last", batch == nullptr ? "partial" : batch->args.value("last", "partial")},
                {"ranks", fmt::format("{}", world_size)},
                {"shuffle", std::move(order)},
                {"shard_by", assignment,
                 "shard_by='auto' follows the .cache() of each rank, in memory or on disk: give shard_by= and hosts= "
                 "where these "
                 "differ"},
                {"samples", fmt::format("{}", chosen.size())},
                {"data set", short_hash(source.version()),
                 "another job, or a loader that ranks open in another order, wants peers of its own"},
                {"choice of samples", short_hash(hash_of_choice(description, chosen))}}});
}

void set_owners(PeerGroup& peers, const BranchPlan& plan, const Ordering& ordering,
                std::shared_ptr<const Selection> selection, const ScheduleOptions& schedule) {
  PlacementOptions options{.hosts = {schedule.world_size, 1},
                           .batch_size = schedule.batch_size,
                           .lanes = ordering.lanes,
                           .pads = schedule.last == LastPolicy::kPad};
  OwnerInput input{std::make_shared<const Placement>(ordering.order, std::move(options)), std::move(selection)};
  if (plan.chunks && plan.chunks->cache) input.chunks = plan.chunks->source;
  peers.set_versions(plan.source);
  peers.set_owner(owner_by_placement(std::move(input)));
  peers.set_position(0, 0);
}

}  // namespace forebay
