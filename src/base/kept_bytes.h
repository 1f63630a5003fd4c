#pragma once

#include <cstdint>

namespace forebay {

/// Memory that a part of the process keeps for later, whoever made it: idle blocks of a pool, entries of a cache, an index. Loaders
/// count it beside what they hold themselves, and have it given back where they lack memory.
class KeptBytes {
 public:
  virtual ~KeptBytes() = default;
  /// From any thread, as often as memory is taken: no lock, no wait.
  virtual uint64_t bytes() const = 0;
  /// Lets go of at least so many, or of all that it can, and says how many these were. What somebody still uses is given back later, by
  /// whoever uses it. From any thread; may give pages back to the system, but waits for nobody.
  virtual uint64_t give_back(uint64_t bytes) = 0;
};

}  // namespace forebay
