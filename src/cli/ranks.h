#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "forebay/loader.h"

namespace forebay {

/// Result of one epoch, or of the rest of one.
struct EpochResult {
  int64_t epoch = 0;
  int64_t samples = 0;  ///< samples without padding
  int64_t batches = 0;  ///< batches of all ranks
  double seconds = 0;   ///< time until the epoch's end, computing the digest included
  std::string digest;
};

/// All ranks of a job in one process, each with a loader of its own. Batches are delivered in
/// global order: step by step, and rank by rank within a step. An error of any loader ends the
/// epoch for all; stats() and errors() stay available.
///
/// One thread makes all calls. A stop may be requested on another thread: it closes the loaders,
/// and every call returns Cancelled from then on.
class Ranks {
 public:
  /// Opens `count` loaders. Overwrites rank and world size of `options.job`.
  static Result<std::unique_ptr<Ranks>> open(const Pipeline& pipeline, LoaderOptions options, int count,
                                             std::stop_token stop);

  /// Called for each batch, in global order, and after each step.
  struct Observer {
    std::function<void(const Batch&)> batch = [](const Batch&) {};
    std::function<Status()> step = [] { return Status(); };
  };
  /// Runs the rest of the current epoch. Errors: those of Loader::next() and of the observer;
  /// Cancelled.
  Result<EpochResult> run_epoch(const Observer& observer);

  bool finished() const { return first().finished(); }
  Loader& first() { return *loaders_.front(); }
  const Loader& first() const { return *loaders_.front(); }
  Status load_state(const std::string& json);
  /// Returns the sum over the ranks.
  uint64_t memory_budget() const;
  /// Returns the sum over the ranks.
  uint64_t memory_peak() const;
  /// Returns the counters of each rank.
  std::vector<Ledger> stats() const;
  /// Returns the errors ordered by sample and operator, with the counts of all ranks added up.
  std::vector<ErrorEntry> errors() const;
  void close();

 private:
  struct Running;
  Ranks() = default;
  /// Runs one step. Returns false at the end of the epoch.
  Result<bool> step(const Observer& observer, Running& running);

  std::vector<std::unique_ptr<Loader>> loaders_;
  std::stop_token stop_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace forebay
