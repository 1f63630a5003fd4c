#include "cli/job_plan.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "loader/compile/ordering.h"
#include "loader/describe/open_source.h"
#include "loader/describe/step_arguments.h"
#include "loader/describe/unbounded_rules.h"
#include "loader/samples/choose_assignment.h"
#include "loader/samples/unread_plan.h"
#include "pipeline/op_spec.h"
#include "plan/equal_batches.h"
#include "plan/placement.h"
#include "plan/plan_order.h"

namespace forebay {

namespace {

constexpr int64_t kMaxRowsCounted = 1'000'000;

// The order of a job's samples, and which of them are cached.
struct JobOrder {
  Ordering ordering;
  std::shared_ptr<const PlanOrder> parts = nullptr;  ///< the order, if there are several data sets
  std::vector<bool> cached;                          ///< by data set

  bool is_cached(int64_t id) const { return cached[parts ? parts->leaf_of(id) : 0]; }
  bool any_cached() const { return std::ranges::find(cached, true) != cached.end(); }
};

void count_transfers(const EqualBatches& schedule, const JobOrder& job, const Placement& placement, JobPlan& plan) {
  const Ordering& ordering = job.ordering;
  AssignedBatch assigned;
  int64_t position = 0;
  const int64_t rows_per_step = plan.batch * plan.ranks;
  // Enough for shares with an error of a tenth of a percent. An epoch may have billions of rows.
  const int64_t max_steps = std::max<int64_t>(1, kMaxRowsCounted / rows_per_step);
  for (; plan.steps_counted < std::min(plan.steps, max_steps); ++plan.steps_counted) {
    // Batches of the second epoch are counted, because caches are empty in the first one.
    const GlobalBatch batch = schedule.global_batch({1, position});
    ordering.assignment->all(batch, &assigned);
    std::set<std::pair<int64_t, int64_t>> transfers;
    for (int64_t rank = 0; rank < plan.ranks; ++rank) {
      for (const int64_t slot : assigned.of(rank)) {
        // Padding is not read.
        if (slot >= batch.samples) continue;
        const int64_t id = ordering.order->id_at(1, position + slot);
        const int64_t host = job.is_cached(id) ? placement.owner(id) : Placement::kNoOwner;
        if (host == Placement::kNoOwner) {
          ++plan.storage;
        } else if (host == placement.hosts().of_rank(rank)) {
          ++plan.own;
        } else {
          ++plan.moved;
          transfers.insert({host, rank});
        }
      }
    }
    plan.transfers = std::max(plan.transfers, static_cast<int64_t>(transfers.size()));
    position = schedule.next_position(position);
  }
}

bool packs(const BranchData& data) { return find_step(data.branch.description, OpEffect::kPacking) != nullptr; }
bool has_cache(const BranchData& data) { return find_step(data.branch.description, OpEffect::kCaching) != nullptr; }

// Divides the rows of one order among ranks by locality or by lane, as the loader does. Data sets
// beside each other are one order, unless they have lanes.
Result<JobOrder> order_of(const DataPlan& data, const Description& description, const ScheduleOptions& schedule,
                          const AssignmentRequest& request) {
  JobOrder job;
  for (const BranchData& branch : data.branches) job.cached.push_back(has_cache(branch));
  const auto cached = std::ranges::find_if(data.branches, has_cache);
  const BranchData& first = cached == data.branches.end() ? data.branches.front() : *cached;
  job.ordering = first.ordering;
  if (data.branches.size() > 1 || data.size() != first.ordering.order->size()) {
    job.parts = std::make_shared<const PlanOrder>(data.plan);
    job.ordering = {.order = job.parts, .assignment = assignment_by_count()};
  }
  const auto in_lanes = [](const BranchData& branch) { return branch.ordering.lanes > 1; };
  if (job.parts && std::ranges::any_of(data.branches, in_lanes)) {
    FOREBAY_ASSIGN(const Assignment assignment, choose_assignment(description, data, schedule, request));
    job.ordering.assignment = assignment.ranks;
    job.ordering.in_groups = true;
    job.ordering.assignment_name = "lanes";
    return job;
  }
  FOREBAY_RETURN_IF_ERROR(choose_assignment(first.branch.description, schedule, request, &job.ordering));
  const bool by_lane = job.ordering.in_groups && job.ordering.lanes > 1;
  const bool by_count = job.ordering.assignment == assignment_by_count();
  job.ordering.assignment_name = by_lane ? "lanes" : by_count ? "count" : "locality";
  return job;
}

}  // namespace

Result<JobPlan> plan_job(const Pipeline& pipeline, const JobRequest& request) {
  const Description& description = pipeline.description();
  if (is_unbounded(description.steps().front()))
    return invalid_argument("a stream has no epochs, and what comes when is not known before it does");
  FOREBAY_ASSIGN(const std::shared_ptr<const Source> source,
                 open_source(description.steps().front(), {.storage_options = request.storage, .stop = request.stop}));
  FOREBAY_ASSIGN(const DataPlan data, unread_plan(description, source, {}, request.seed, "--hosts"));
  if (std::ranges::any_of(data.branches, packs))
    return unsupported(
        "which host reads what of packed rows is known once their lengths are taken; plan the pipeline "
        "without .pack(), or without --hosts");
  const int64_t world = request.hosts * request.ranks_per_host;
  const ScheduleOptions options = schedule_of(description, data.size(), world);
  FOREBAY_RETURN_IF_ERROR(options.check());
  FOREBAY_ASSIGN(const JobOrder job,
                 order_of(data, description, options, {request.shard_by, static_cast<int>(request.hosts)}));
  const Ordering& ordering = job.ordering;
  const PlacementOptions placing{.hosts = {world, request.ranks_per_host},
                                 .batch_size = options.batch_size,
                                 .lanes = ordering.in_groups ? ordering.lanes : 1,
                                 .pads = options.last == LastPolicy::kPad};
  const Placement placement(ordering.order, placing);
  const EqualBatches schedule(options, ordering.assignment);
  JobPlan plan{.shard_by = {},
               .hosts = request.hosts,
               .ranks = world,
               .batch = options.batch_size,
               .samples = options.epoch_size,
               .steps = schedule.steps()};
  plan.shard_by = ordering.assignment_name;
  if (job.any_cached()) {
    plan.min_cached = INT64_MAX;
    for (int64_t host = 0; host < placing.hosts.count(); ++host) {
      plan.min_cached = std::min(plan.min_cached, placement.rows_assigned(host));
      plan.max_cached = std::max(plan.max_cached, placement.rows_assigned(host));
    }
  }
  count_transfers(schedule, job, placement, plan);
  return plan;
}

SortedJson job_to_json(const JobPlan& plan) {
  return {{"batch", plan.batch},
          {"shard_by", plan.shard_by},
          {"hosts", plan.hosts},
          {"kept_a_host", {plan.min_cached, plan.max_cached}},
          {"ranks", plan.ranks},
          {"samples", plan.samples},
          {"second_epoch",
           {{"moved", plan.moved},
            {"own", plan.own},
            {"steps_gone_through", plan.steps_counted},
            {"storage", plan.storage},
            {"transfers_a_step", plan.transfers}}},
          {"steps", plan.steps}};
}

void print_job(const JobPlan& plan, const Console& console) {
  const auto share = [&](int64_t rows) {
    const int64_t all = std::max<int64_t>(1, plan.own + plan.moved + plan.storage);
    return fmt::format("{:.1f} %", 100.0 * static_cast<double>(rows) / static_cast<double>(all));
  };
  fmt::print(console.out, "{} samples, {} ranks on {} host{}, {} rows a rank: {} step{} an epoch, dealt by {}\n",
             plan.samples, plan.ranks, plan.hosts, plan.hosts == 1 ? "" : "s", plan.batch, plan.steps,
             plan.steps == 1 ? "" : "s", plan.shard_by);
  fmt::print(console.out, "first epoch: every sample is read from storage, once\n");
  if (plan.max_cached == 0) {
    fmt::print(console.out,
               "later epochs: the same again; a .cache() would keep samples on the hosts that read them\n");
    return;
  }
  fmt::print(console.out, "each host keeps what it read, {} to {} samples, where its caches have room for them\n",
             plan.min_cached, plan.max_cached);
  fmt::print(console.out,
             "later epochs: {} of the rows are on the host that needs them, {} on another one (at most {} transfers a "
             "step), {} in storage alone\n",
             share(plan.own), share(plan.moved), plan.transfers, share(plan.storage));
}

}  // namespace forebay
