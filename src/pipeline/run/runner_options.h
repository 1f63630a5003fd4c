#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pipeline/row_work.h"
#include "runtime/byte_budget.h"

namespace forebay {

struct RunnerOptions {
  int threads = 1;
  /// The run has threads of its own, since the user gave their number. Otherwise it shares threads
  /// with other such runs, and their number follows the host's cores.
  bool own_threads = false;
  int local_ranks = 1;         ///< processes of the job that divide the host's cores
  int ranks = 1;               ///< processes of the job on all hosts
  int requests = 16;           ///< reads in flight
  bool find_requests = false;  ///< as many reads as the store serves best, if Store::slots() knows
  int64_t window_batches = 3;  ///< batches in the window
  uint64_t memory = 0;         ///< bytes for everything between storage and the user
  uint64_t memory_least = 0;   ///< bytes of `memory` without which no batch can be made
  /// Bytes that all loaders share whose users gave no memory. The share of a run is raised up to
  /// this if it cannot hold a sample. 0 if the user gave `memory`.
  uint64_t memory_together = 0;
  uint64_t memory_beside = 0;  ///< bytes in addition to a shared `memory`; see Memory::Demand
  /// Returns the bytes that are enough for every batch, for messages. Empty if that is not known.
  std::function<uint64_t()> memory_bound = {};
  /// Bytes of the window's batches. Chunks of later batches leave so much free.
  uint64_t window_bytes = 0;
  uint64_t ahead_bytes = 0;               ///< bytes for reads ahead of the window
  uint64_t working_bytes_per_thread = 0;  ///< working memory that each compute thread has
  uint64_t index_bytes = 0;               ///< bytes of the data set's index
  /// Memory outside the run that counts in its budget, and that other runs may use, too: cache
  /// entries, idle memory of stores and decoders.
  std::vector<ByteBudget::Account> accounts = {};
  BadSample bad_sample = BadSample::kRaise;
  /// Fields of user code that are (values, offsets) in every batch.
  std::set<std::string> ragged = {};
  std::chrono::milliseconds long_wait{30'000};  ///< a longer wait of the consumer is logged
  std::chrono::milliseconds patience{5'000};    ///< how long close() waits for a user's function
};

}  // namespace forebay
