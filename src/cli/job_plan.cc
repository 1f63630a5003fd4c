#include "cli/job_plan.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "loader/compile/ordering.h"
#include "loader/describe/check.h"
#include "loader/describe/open_source.h"
#include "loader/describe/step_arguments.h"
#include "loader/describe/unbounded_rules.h"
#include "loader/samples/choose_assignment.h"
#include "pipeline/op_spec.h"
#include "pipeline/selection.h"
#include "plan/equal_batches.h"
#include "plan/placement.h"

namespace forebay {

namespace {

constexpr int64_t kMaxRowsCounted = 1'000'000;

void count_transfers(const EqualBatches& schedule, const Ordering& ordering, const Placement& placement, bool has_cache,
                     JobPlan& plan) {
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
        const int64_t host =
            has_cache ? placement.owner(ordering.order->id_at(1, position + slot)) : Placement::kNoOwner;
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

}  // namespace

Result<JobPlan> plan_job(const Pipeline& pipeline, const JobRequest& request) {
  const Description& description = pipeline.description();
  FOREBAY_RETURN_IF_ERROR(expect_one_data_set(description, "--hosts"));
  if (is_unbounded(description.steps().front()))
    return invalid_argument("a stream has no epochs, and what comes when is not known before it does");
  FOREBAY_ASSIGN(const std::shared_ptr<const Source> source,
                 open_source(description.steps().front(), {.storage_options = request.storage, .stop = request.stop}));
  if (find_step(description, OpEffect::kPacking) != nullptr)
    return unsupported(
        "which host reads what of packed rows is known once their lengths are taken; plan the pipeline "
        "without .pack(), or without --hosts");
  const auto selection = select_unread(description, source.get(), source->size());
  const int64_t world = request.hosts * request.ranks_per_host;
  const ScheduleOptions options = schedule_of(description, selection->size(), world);
  FOREBAY_RETURN_IF_ERROR(options.check());
  FOREBAY_ASSIGN(Ordering ordering,
                 choose_order(find_step(description, OpEffect::kOrder), *source, *selection, request.seed));
  FOREBAY_RETURN_IF_ERROR(
      choose_assignment(description, options, {request.shard_by, static_cast<int>(request.hosts)}, &ordering));
  const PlacementOptions placing{.hosts = {world, request.ranks_per_host},
                                 .batch_size = options.batch_size,
                                 .lanes = ordering.in_groups ? ordering.lanes : 1,
                                 .pads = options.last == LastPolicy::kPad};
  const Placement placement(ordering.order, placing);
  const EqualBatches schedule(options, ordering.assignment);
  const bool has_cache = find_step(description, OpEffect::kCaching) != nullptr;
  JobPlan plan{.shard_by = {},
               .hosts = request.hosts,
               .ranks = world,
               .batch = options.batch_size,
               .samples = options.epoch_size,
               .steps = schedule.steps()};
  plan.shard_by = ordering.in_groups && ordering.lanes > 1       ? "lanes"
                  : ordering.assignment == assignment_by_count() ? "count"
                                                                 : "locality";
  if (has_cache) {
    plan.min_cached = INT64_MAX;
    for (int64_t host = 0; host < placing.hosts.count(); ++host) {
      plan.min_cached = std::min(plan.min_cached, placement.rows_assigned(host));
      plan.max_cached = std::max(plan.max_cached, placement.rows_assigned(host));
    }
  }
  count_transfers(schedule, ordering, placement, has_cache, plan);
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
