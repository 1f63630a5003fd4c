#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "pipeline/row_work.h"
#include "pipeline/run/memory_plan.h"
#include "runtime/block_source.h"

namespace forebay {

struct RunnerOptions {
  int threads = 1;
  /// The user gave the number of threads, so the run has threads of its own. Otherwise it shares
  /// threads with other runs, and their number follows the host's cores.
  bool own_threads = false;
  int local_ranks = 1;  ///< processes of the job that divide the host's cores
  int ranks = 1;        ///< processes of the job on all hosts
  int requests = 16;    ///< reads in flight
  /// The number of reads in flight follows measurements, if the store has slots().
  bool find_requests = false;
  int64_t window_batches = 3;  ///< batches in the window
  MemoryPlan memory = {};
  std::shared_ptr<BlockSource> batch_memory = BlockSource::own_memory();  ///< where batches are
  BadSample bad_sample = BadSample::kRaise;
  /// Fields of user code that are (values, offsets) in every batch.
  std::set<std::string> ragged = {};
  std::chrono::milliseconds long_wait{30'000};  ///< a longer wait of the consumer is logged
  std::chrono::milliseconds patience{5'000};    ///< how long close() waits for a user's function
};

}  // namespace forebay
