#include "loader/samples/open_schedule.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "loader/compile/bucket_step.h"
#include "loader/compile/packing_step.h"
#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"
#include "plan/bucketed_batches.h"
#include "plan/equal_batches.h"
#include "plan/packed_batches.h"

namespace forebay {

namespace {

// The positions of chunks that the order of a branch mixes; 0 if samples are read one by one. Draws
// may take few rows of a chunk, or take them several times.
int64_t mixed_rows(const BranchData& branch) {
  if (!branch.ordering.in_groups || !branch.source) return 0;
  const int64_t chunks = std::max<int64_t>(branch.source->as_chunks()->chunks(), 1);
  return branch.ordering.block * branch.ordering.lanes * (branch.ordering.order->size() / chunks + 1);
}

// True if an epoch may have a sample several times. Its length does not tell: as many draws as
// there are samples may be of one of them.
bool repeats(const Description& description) {
  const OpSpec& source = description.steps().front();
  const bool repeated = std::ranges::any_of(description.steps(), [](const OpSpec& step) {
    return catalog().has_effect(step, OpEffect::kRepeating) || catalog().has_effect(step, OpEffect::kDrawing);
  });
  if (repeated) return true;
  if (catalog().is_one_branch(source)) return false;
  if (!shares_of(source, {}).stages.empty()) return true;
  return std::ranges::any_of(source.parts, [](const PipelinePart& part) { return repeats(part.pipeline); });
}

int64_t mixed_rows(const DataPlan& data) {
  int64_t rows = 0;
  for (const BranchData& branch : data.branches) rows += mixed_rows(branch);
  return std::min(rows, data.size());
}

Result<JobSteps> open_buckets(const Description& description, const OpSpec& bucket, const DataPlan& data, uint64_t seed,
                              int64_t world_size, const AssignmentRequest& request) {
  FOREBAY_RETURN_IF_ERROR(check_assignment(request, world_size));
  if (request.shard_by == ShardBy::kLocality)
    return unsupported(
        fmt::format("shard_by='locality' moves rows between the batches of a step, and .{}() gives each rank a batch "
                    "of like lengths as a whole; leave it out (with peers= each host asks the others for what they "
                    "have cached), or use .batch(n)",
                    bucket.name));
  std::vector<SampleLengths> lengths;
  for (const BranchData& branch : data.branches) lengths.push_back(branch.chosen.lengths);
  BucketingOptions options = bucket_options(bucket, lengths, mixed_rows(data), seed);
  options.repeats = repeats(description);
  Assignment batches{.ranks = nullptr, .name = "batches"};
  batches.first_ranks = first_ranks_by_lengths(data.plan, lengths, options, world_size);
  return JobSteps{std::make_shared<BucketedBatches>(data.plan, std::move(lengths), options, world_size),
                  std::move(batches), 2 * options.window};
}

Result<JobSteps> open_packed(const OpSpec& pack, const DataPlan& data, const ScheduleOptions& options,
                             const AssignmentRequest& request) {
  FOREBAY_RETURN_IF_ERROR(check_assignment(request, options.world_size));
  if (request.shard_by == ShardBy::kLocality)
    return unsupported(
        "shard_by='locality' is for samples, and blocks that are made anew in each epoch have samples of many hosts; "
        "leave it out (with peers= each host asks the others for what they have cached)");
  SizesOfLeaves sizes;
  for (const BranchData& branch : data.branches) sizes.push_back(branch.chosen.sizes);
  const PackedWindowsOptions packing = window_options(pack, mixed_rows(data));
  FOREBAY_ASSIGN(auto windows, PackedWindows::make(data.plan, std::move(sizes), packing));
  return JobSteps{std::make_shared<PackedBatches>(std::move(windows), options),
                  Assignment{.ranks = nullptr, .name = "blocks"}, 2 * packing.packing.window};
}

}  // namespace

int64_t blocks_in_window(const BranchData& branch, int64_t window) {
  const int64_t rows = mixed_rows(branch);
  return rows == 0 ? 1 : std::min(window, branch.ordering.order->size()) / rows + 2;
}

Result<JobSteps> open_schedule(const Description& description, const DataPlan& data, uint64_t seed, int64_t world_size,
                               const AssignmentRequest& request) {
  if (const OpSpec* const bucket = measuring_step(description))
    return open_buckets(description, *bucket, data, seed, world_size, request);
  const ScheduleOptions options = schedule_of(description, data.size(), world_size);
  FOREBAY_RETURN_IF_ERROR(options.check());
  if (const OpSpec* const pack = shared_packing(data.branches.front().branch.description))
    return open_packed(*pack, data, options, request);
  FOREBAY_ASSIGN(Assignment assignment, choose_assignment(description, data, options, request));
  auto schedule = std::make_shared<EqualBatches>(options, assignment.ranks);
  return JobSteps{std::move(schedule), std::move(assignment)};
}

}  // namespace forebay
