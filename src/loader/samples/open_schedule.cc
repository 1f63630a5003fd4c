#include "loader/samples/open_schedule.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/chunk_source.h"
#include "loader/compile/bucket_step.h"
#include "loader/describe/step_arguments.h"
#include "plan/bucketed_batches.h"
#include "plan/equal_batches.h"

namespace forebay {

namespace {

// The rows of chunks that the order of a branch mixes; 0 if samples are read one by one.
int64_t mixed_rows(const BranchData& branch) {
  if (!branch.ordering.in_groups || !branch.source) return 0;
  const int64_t chunks = std::max<int64_t>(branch.source->as_chunks()->chunks(), 1);
  return branch.ordering.block * branch.ordering.lanes * (branch.chosen.size() / chunks + 1);
}

int64_t mixed_rows(const DataPlan& data) {
  int64_t rows = 0;
  for (const BranchData& branch : data.branches) rows += mixed_rows(branch);
  return std::min(rows, data.size());
}

Result<JobSteps> open_buckets(const OpSpec& bucket, const DataPlan& data, uint64_t seed, int64_t world_size,
                              const AssignmentRequest& request) {
  FOREBAY_RETURN_IF_ERROR(check_assignment(request, world_size));
  if (request.shard_by == ShardBy::kLocality)
    return unsupported(
        "shard_by='locality' is not for .bucket() yet: leave it out, and each host caches what comes to it");
  std::vector<SampleLengths> lengths;
  for (const BranchData& branch : data.branches) lengths.push_back(branch.chosen.lengths);
  const BucketingOptions options = bucket_options(bucket, lengths, mixed_rows(data), seed);
  return JobSteps{std::make_shared<BucketedBatches>(data.plan, std::move(lengths), options, world_size),
                  {.ranks = nullptr, .name = "batches"},
                  2 * options.window};
}

}  // namespace

int64_t blocks_in_window(const BranchData& branch, int64_t window) {
  const int64_t rows = mixed_rows(branch);
  return rows == 0 ? 1 : std::min(window, branch.chosen.size()) / rows + 2;
}

Result<JobSteps> open_schedule(const Description& description, const DataPlan& data, uint64_t seed, int64_t world_size,
                               const AssignmentRequest& request) {
  if (const OpSpec* const bucket = measuring_step(description))
    return open_buckets(*bucket, data, seed, world_size, request);
  const ScheduleOptions options = schedule_of(description, data.size(), world_size);
  FOREBAY_RETURN_IF_ERROR(options.check());
  FOREBAY_ASSIGN(Assignment assignment, choose_assignment(description, data, options, request));
  auto schedule = std::make_shared<EqualBatches>(options, assignment.ranks);
  return JobSteps{std::move(schedule), std::move(assignment)};
}

}  // namespace forebay
