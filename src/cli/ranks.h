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

/// One epoch, or what was left of it.
struct EpochResult {
  int64_t epoch = 0;
  int64_t samples = 0;  ///< padding left out
  int64_t batches = 0;  ///< of all ranks
  double seconds = 0;   ///< until the end of the epoch was told; the digest is made meanwhile
  std::string digest;
};

/// All ranks of a job in this process, each a loader of its own, taken in step: the batches come in global order, rank
/// by rank within a step. Once a stop is asked for the loaders close and every call answers Cancelled.
/// All calls come from one thread, but for the stop, whose callback closes the loaders from its own. An error of any loader ends the
/// epoch for all; they can be asked for stats and errors afterwards.
class Ranks {
 public:
  /// `options.rank` and `.world_size` are set here.
  static Result<std::unique_ptr<Ranks>> open(const Pipeline& pipeline, LoaderOptions options, int count,
                                             std::stop_token stop);

  /// Called for each batch, in global order, and after each step.
  struct Observer {
    std::function<void(const Batch&)> batch = [](const Batch&) {};
    std::function<Status()> step = [] { return Status(); };
  };
  /// The rest of the current epoch.
  /// Errors are those of Loader::next(), of the observer, or Cancelled.
  Result<EpochResult> run_epoch(const Observer& observer);

  bool finished() const { return first().finished(); }
  Loader& first() { return *loaders_.front(); }
  const Loader& first() const { return *loaders_.front(); }
  Status load_state(const std::string& json);
  /// Summed over the ranks.
  uint64_t memory_budget() const;
  uint64_t memory_peak() const;
  /// What each rank has counted.
  std::vector<Ledger> stats() const;
  /// By sample and operator; the counts of the ranks added up.
  std::vector<ErrorEntry> errors() const;
  void close();

 private:
  struct Running;
  Ranks() = default;
  /// One step; false at the end of the epoch.
  Result<bool> step(const Observer& observer, Running& running);

  std::vector<std::unique_ptr<Loader>> loaders_;
  std::stop_token stop_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace forebay
