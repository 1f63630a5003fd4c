#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "pipeline/description.h"

namespace forebay {

/// Returns the length of the longest common prefix of two pipelines whose results can be cached.
/// The prefix has equal steps and gives the same in each epoch. It ends before the first step that
/// differs, draws random numbers, makes batches or is user code. Steps that only choose an order
/// are skipped and may differ. Returns 0 if the sources or their parts differ, if a step of a part
/// would end the prefix, or if no common step computes values.
size_t shared_steps(const Description& a, const Description& b);

/// Returns the pipeline with a `.cache(ram=…, disk=0)` after its first `steps` steps, or unchanged
/// if it has a cache already.
Description with_cache_after(const Description& description, size_t steps, uint64_t ram_bytes);

/// The pipelines of all clients, so that each can find the steps that it shares with others. Any
/// thread may call any function.
class SharedPrefixes {
 public:
  /// Adds the pipeline of a client and returns the client's number. Clients with equal `job` share
  /// nothing, because they read different samples.
  uint64_t add(const Description& description, const std::string& job);
  void remove(uint64_t client);
  /// Returns a number that grows with every add().
  uint64_t version() const;
  /// Sets the budget of all caches of shared steps together.
  void set_bytes(uint64_t bytes);
  /// Returns the budget of the cache after the first `steps` steps. Reserves half of the bytes that
  /// are left if it has none yet; 0 if too few are left.
  uint64_t reserve_bytes(const Description& description, size_t steps);
  /// Returns the largest number of steps that the client shares with any other client, or 0.
  size_t steps_of(uint64_t client) const;

 private:
  struct Client {
    Description description;
    std::string job;
  };
  mutable Mutex mutex_;
  std::map<uint64_t, Client> clients_ FOREBAY_GUARDED_BY(mutex_);
  uint64_t version_ FOREBAY_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_ FOREBAY_GUARDED_BY(mutex_) = 0;
  // Budgets by the steps before the cache. One is removed with the last client that has these
  // steps.
  std::map<std::string, uint64_t> budgets_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
