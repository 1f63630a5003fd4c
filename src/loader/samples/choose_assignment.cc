#include "loader/samples/choose_assignment.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "ops/definition/args.h"
#include "pipeline/catalog.h"
#include "plan/placement.h"
#include "plan/sample_home.h"

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

// The hosts, or processes, among which samples are cached. Nothing if the assignment is by count.
Result<std::optional<Hosts>> caching_hosts(CacheKind kind, int64_t world_size, const AssignmentRequest& request) {
  if (request.shard_by == ShardBy::kCount) return std::optional<Hosts>();
  if (request.shard_by == ShardBy::kAuto && kind == CacheKind::kNothing) return std::optional<Hosts>();
  const int64_t count = number_of_caches(request, world_size, kind);
  if (count == 0) {
    if (request.shard_by == ShardBy::kAuto) return std::optional<Hosts>();
    return invalid_argument(
        "shard_by='locality' needs to know which ranks share a host, and the launcher does not tell all ranks alike; "
        "give "
        "hosts= (how many there are), the same on every rank, or shard_by='count'");
  }
  // A single cache has every sample, whichever rank reads it. Assignment by count moves no samples.
  if (count == 1) return std::optional<Hosts>();
  // Ranks of one host have consecutive numbers. If they do not divide evenly, the last host has
  // fewer.
  return std::optional(Hosts{world_size, (world_size + count - 1) / count});
}

std::string locality_among(const Hosts& hosts) { return fmt::format("locality, hosts {}", hosts.count()); }

// The caches of samples that are read one by one. If one of them is in memory only, samples belong
// to processes, and so to their hosts.
CacheKind cache_kind(const DataPlan& data) {
  CacheKind kind = CacheKind::kNothing;
  for (const BranchData& branch : data.branches) {
    const CacheKind own = branch.ordering.in_groups ? CacheKind::kNothing : cache_kind(branch.branch.description);
    if (own == CacheKind::kInMemory || kind == CacheKind::kNothing) kind = own;
  }
  return kind;
}

// The assignment of a plan in which a sample may come several times, or from several data sets.
Result<Assignment> choose_assignment_of_tree(const DataPlan& data, const ScheduleOptions& schedule,
                                             const AssignmentRequest& request) {
  std::vector<int64_t> lanes;
  for (const BranchData& branch : data.branches) lanes.push_back(branch.ordering.lanes);
  if (std::ranges::any_of(lanes, [](int64_t each) { return each > 1; })) {
    auto by_leaf = assignment_by_leaf(data.plan, std::move(lanes));
    return Assignment{by_leaf, "lanes of parts", 1, first_ranks_by_batch(schedule, by_leaf)};
  }
  FOREBAY_ASSIGN(const std::optional<Hosts> hosts, caching_hosts(cache_kind(data), schedule.world_size, request));
  const bool in_groups = std::ranges::all_of(data.branches, &Ordering::in_groups, &BranchData::ordering);
  if (!hosts || in_groups) return Assignment{assignment_by_count(), "count", 1, first_ranks_by_position(schedule)};
  return Assignment{assignment_by_home(data.plan, hosts->ranks_per_host), locality_among(*hosts), 1,
                    first_ranks_by_home(schedule.world_size)};
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
  if (ordering->in_groups) return {};
  FOREBAY_ASSIGN(const std::optional<Hosts> hosts,
                 caching_hosts(cache_kind(description), schedule.world_size, request));
  if (!hosts) return {};
  const PlacementOptions options{
      .hosts = *hosts, .batch_size = schedule.batch_size, .pads = schedule.last == LastPolicy::kPad};
  ordering->assignment =
      assignment_by_locality(ordering->order, std::make_shared<const Placement>(ordering->order, options));
  ordering->assignment_name = locality_among(*hosts);
  return {};
}

Result<Assignment> choose_assignment(const Description& description, const DataPlan& data,
                                     const ScheduleOptions& schedule, const AssignmentRequest& request) {
  FOREBAY_RETURN_IF_ERROR(check_assignment(request, schedule.world_size));
  Ordering ordering = data.branches.front().ordering;
  const bool repeats = data.size() != ordering.order->size();
  // Draws of one data set in lanes are shared by lane, whatever the samples are.
  const bool as_one_order = ordering.lanes > 1 || ordering.order->permutes();
  if (data.branches.size() > 1 || repeats || !as_one_order) return choose_assignment_of_tree(data, schedule, request);
  FOREBAY_RETURN_IF_ERROR(choose_assignment(description, schedule, request, &ordering));
  return Assignment{ordering.assignment, ordering.assignment_name, ordering.lanes,
                    first_ranks_by_position(schedule, ordering.lanes)};
}

}  // namespace forebay
