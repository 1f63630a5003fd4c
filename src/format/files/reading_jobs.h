#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "store/store.h"

namespace forebay {

/// What came of a step's wishes: buffers in the order of the reads. `status` is the first failure; then the rest is empty.
struct JobInput {
  Status status;
  std::vector<Buffer> buffers;
  std::optional<ObjectInfo> info;
};

/// What a job waits for before its next step: reads, or the size of an object. Nothing: the job is done.
struct JobWish {
  std::vector<ReadRequest> reads;
  std::optional<std::string> stat;
  bool nothing() const { return reads.empty() && !stat; }
};

/// Work that reads, thinks, and perhaps reads again. Made and stepped on any thread, one step at a time.
/// Belongs to the runner, which ends it where it is done or something failed; a step must not wait.
class ReadingJob {
 public:
  virtual ~ReadingJob() = default;
  /// The first step gets an empty input. An error ends all jobs.
  virtual Result<JobWish> step(JobInput input) = 0;
};

struct ReadingJobsOptions {
  size_t at_once = 64;
  /// Memory of the jobs that run together, by what `bytes` says of each; one that needs more runs alone.
  uint64_t budget_bytes = uint64_t{256} << 20;
  std::function<uint64_t(size_t job)> bytes = {};
};

/// Runs `count` jobs, many at once, on this thread and a few more. For opening a data set, never on an engine thread. Returns when
/// none runs any more; the first error ends them all.
Status run_reading_jobs(Store& store, size_t count, const std::function<std::unique_ptr<ReadingJob>(size_t)>& make,
                        const ReadingJobsOptions& options, std::stop_token stop);

}  // namespace forebay
