#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/description.h"

namespace forebay {

/// How many steps from the source on are the same in both, word by word, and give the same in each epoch: up to the first that
/// differs, draws random numbers, makes batches or is user code. An order, which may differ, does not end them. 0: not even the source
/// is the same; then, and where the steps only choose and name, there is nothing to keep.
size_t shared_steps(const Description& a, const Description& b);

/// The pipeline with a `.cache(ram=…, disk=0)` behind its first `steps` steps; as it is where it has a cache there already.
Description with_cache_behind(const Description& description, size_t steps, uint64_t ram_bytes);

/// What clients read, so that each knows what others have in common with it. From any thread.
class SharedPrefixes {
 public:
  /// `job`: clients of one job have samples of their own, so they have nothing in common.
  uint64_t add(const Description& description, const std::string& job);
  void remove(uint64_t client);
  /// Counts what was added.
  uint64_t version() const;
  /// What caches of shared steps may take in all.
  void set_bytes(uint64_t bytes);
  /// What the one behind the first `steps` of these may take: half of what no other has. 0: nothing worth it is left.
  uint64_t bytes_for(const Description& description, size_t steps);
  /// The most steps that it has in common with any other that is there; 0: none.
  size_t steps_of(uint64_t client) const;

 private:
  struct Known {
    Description description;
    std::string job;
  };
  mutable std::mutex mutex_;
  std::map<uint64_t, Known> known_;
  uint64_t version_ = 0, bytes_ = 0;
  std::map<std::string, uint64_t> given_;  // by the steps in front of the cache; until nobody has these
};

}  // namespace forebay
