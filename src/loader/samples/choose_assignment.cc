#include "loader/samples/choose_assignment.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "ops/definition/args.h"
#include "pipeline/catalog.h"
#include "plan/placement.h"

namespace forebay {

namespace {

// Where the pipeline caches samples: nowhere, in memory of each process, or on a disk of each host.
enum class CacheKind { kNothing, kInMemory, kOnDisk };

CacheKind cache_kind(const Description& description) {
  const OpSpec* const cache = find_step(description, OpEffect::kCaching);
  if (cache == nullptr) return CacheKind::kNothing;
  const Args args(cache->args, catalog().find(cache->name)->args);
  return args.json("disk") == "auto" || args.bytes("disk") > 0 ? CacheKind::kOnDisk : CacheKind::kInMemory;
}

// Number of hosts or processes that cache samples; 0 if unknown.
int64_t number_of_caches(const AssignmentRequest& request, int64_t world_size, CacheKind kind) {
  // The user's number takes precedence over the launcher's, although it cannot be verified here.
  if (request.hosts) return *request.hosts;
  if (world_size == 1 || kind == CacheKind::kInMemory) return world_size;
  return request.known_hosts;
}

}  // namespace

Status check_assignment(const AssignmentRequest& request, int64_t world_size) {
  if (!request.hosts || (*request.hosts >= 1 && *request.hosts <= world_size)) return {};
  return invalid_argument(fmt::format("hosts is {}; {} rank{} can be on 1 to {} of them", *request.hosts, world_size,
                                      world_size == 1 ? "" : "s", world_size));
}

Status choose_assignment(const Description& description, const ScheduleOptions& schedule,
                         const AssignmentRequest& request, Ordering* ordering) {
  FOREBAY_RETURN_IF_ERROR(check_assignment(request, schedule.world_size));
  if (ordering->in_groups || request.shard_by == ShardBy::kCount) return {};
  const CacheKind kind = cache_kind(description);
  if (request.shard_by == ShardBy::kAuto && kind == CacheKind::kNothing) return {};
  const int64_t count = number_of_caches(request, schedule.world_size, kind);
  if (count == 0) {
    if (request.shard_by == ShardBy::kAuto) return {};
    return invalid_argument(
        "shard_by='locality' needs to know which ranks share a host, and the launcher does not tell all ranks alike; "
        "give "
        "hosts= (how many there are), the same on every rank, or shard_by='count'");
  }
  // A single cache has every sample, whichever rank reads it. Assignment by count moves no samples.
  if (count == 1) return {};
  // Ranks of one host have consecutive numbers. If they do not divide evenly, the last host has
  // fewer.
  const Hosts hosts{schedule.world_size, (schedule.world_size + count - 1) / count};
  const PlacementOptions options{
      .hosts = hosts, .batch_size = schedule.batch_size, .pads = schedule.last == LastPolicy::kPad};
  ordering->assignment =
      assignment_by_locality(ordering->order, std::make_shared<const Placement>(ordering->order, options));
  ordering->assignment_name = fmt::format("locality, hosts {}", hosts.count());
  return {};
}

Result<Assignment> choose_assignment(const Description& description, const DataPlan& data,
                                     const ScheduleOptions& schedule, const AssignmentRequest& request) {
  const Ordering& first = data.branches.front().ordering;
  const bool repeats = data.size() != first.order->size();
  if (data.branches.size() == 1 && (!repeats || first.lanes == 1)) {
    Ordering ordering = first;
    // Nothing is known of the owner of a sample that comes several times.
    const bool owned = !repeats && first.order->permutes();
    const AssignmentRequest asked = owned ? request : AssignmentRequest{.shard_by = ShardBy::kCount};
    FOREBAY_RETURN_IF_ERROR(choose_assignment(description, schedule, asked, &ordering));
    return Assignment{ordering.assignment, ordering.assignment_name, ordering.lanes};
  }
  FOREBAY_RETURN_IF_ERROR(check_assignment(request, schedule.world_size));
  if (request.shard_by == ShardBy::kLocality)
    return unsupported(
        "shard_by='locality' is not for many data sets as one yet: leave it out, and each host caches what comes to "
        "it");
  std::vector<int64_t> lanes;
  for (const BranchData& branch : data.branches) lanes.push_back(branch.ordering.lanes);
  if (std::ranges::all_of(lanes, [](int64_t each) { return each == 1; })) return Assignment{assignment_by_count()};
  return Assignment{assignment_by_leaf(data.plan, std::move(lanes)), "lanes of parts"};
}

}  // namespace forebay
