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

/// The result of a step's requests: buffers in the order of the reads. If one failed, `status` is
/// the first failure and the rest is empty.
struct JobInput {
  Status status;
  std::vector<Buffer> buffers;
  std::optional<ObjectInfo> info;
};

/// What a job needs before its next step: reads, or the size of an object. If it is empty, the job
/// is done.
struct NextReads {
  std::vector<ReadRequest> reads;
  std::optional<std::string> stat;
  bool empty() const { return reads.empty() && !stat; }
};

/// Work that alternates between reads and computation. It is created and stepped on any thread, one
/// step at a time. The runner owns it and destroys it when it is done or any job failed. A step
/// must not block.
class ReadingJob {
 public:
  virtual ~ReadingJob() = default;
  /// The first step gets an empty input. An error ends all jobs.
  virtual Result<NextReads> step(JobInput input) = 0;
};

/// Limits of the jobs that run at the same time.
struct ReadingJobsOptions {
  size_t at_once = 64;
  /// Memory limit of the jobs that run together, where each counts as much as `bytes` says. A job
  /// that needs more runs alone.
  uint64_t budget_bytes = uint64_t{256} << 20;
  std::function<uint64_t(size_t job)> bytes = {};
};

/// Runs `count` jobs, many at once, on this thread and a few more. It is meant for opening a data
/// set, and must not be called on an engine thread. Returns when no job runs any more. The first
/// error ends all jobs.
Status run_reading_jobs(Store& store, size_t count, const std::function<std::unique_ptr<ReadingJob>(size_t)>& make,
                        const ReadingJobsOptions& options, std::stop_token stop);

}  // namespace forebay
