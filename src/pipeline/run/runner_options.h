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
  bool own_threads =
      false;  ///< beside those that loaders share whose users gave no number; else it follows the host's cores,
  int local_ranks = 1;         ///< which so many processes divide
  int ranks = 1;               ///< processes of the job, on all hosts
  int requests = 16;           ///< reads in flight
  bool find_requests = false;  ///< instead as many as the store serves best (Store::slots()), if it can tell
  int64_t window_batches = 3;  ///< batches worked on at once
  uint64_t memory = 0;         ///< bytes for everything between storage and the user
  uint64_t memory_least = 0;   ///< of these, without which no batch is made
  /// Of what all loaders have together whose users gave no memory: theirs is divided, and where it cannot hold a sample it is
  /// raised as far as this. 0: `memory` is what the user gave.
  uint64_t memory_together = 0;
  uint64_t memory_beside = 0;                   ///< on top of `memory`, where that is divided: see Memory::Demand
  std::function<uint64_t()> memory_bound = {};  ///< what is enough for every batch, where that can be known: for errors
  uint64_t window_bytes = 0;  ///< what the batches of the window take: chunks of later ones leave so much alone
  uint64_t ahead_bytes = 0;   ///< of these, for what is fetched ahead of the window
  uint64_t working_bytes_per_thread = 0;  ///< of these, kept for each compute thread
  uint64_t index_bytes = 0;               ///< of these, what the data set knows of itself
  /// What counts beside that: entries of caches, idle memory of stores and decoders, which others may share.
  struct Beside {
    Use use;
    std::shared_ptr<KeptBytes> kept;
    ByteBudget::Beside kind = ByteBudget::Beside::kIdle;
    uint64_t most = UINT64_MAX;  ///< that counts
    uint64_t set_aside = 0;      ///< for it before it is there
  };
  std::vector<Beside> beside = {};
  BadSample bad_sample = BadSample::kRaise;
  std::set<std::string> ragged = {};            ///< fields of user code that are (values, offsets) in every batch
  std::chrono::milliseconds long_wait{30'000};  ///< a wait of the consumer that is worth a line in the log
  std::chrono::milliseconds patience{5'000};    ///< of close() with a function of the user that does not return
};

}  // namespace forebay
