#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "engine/shared_chunks.h"
#include "forebay/engine.h"
#include "runtime/executor.h"
#include "runtime/memory.h"

namespace forebay {

/// Resources that all loaders of a process share: compute threads, memory, and the decoded chunks
/// that any of them holds. Loaders share ownership; the threads end with the last owner.
class Engine {
 public:
  using CountCores = std::function<int(const Executor&)>;

  /// Begins with `cores` compute threads at most, unless a user asks for more. update_cores() asks
  /// `count_usable_cores` how many there may be; without it the number never changes.
  explicit Engine(int cores, Executor::Clock clock = monotonic_ns, CountCores count_usable_cores = {});

  /// Returns the engine of this process. If no loader has one, it makes one that may use all cores
  /// available to the process, or those of limits(). A forked child makes its own. May be called
  /// from any thread.
  static std::shared_ptr<Engine> shared();
  /// The limits that forebay::engine() (forebay/engine.h) has set for this process.
  static EngineLimits limits();

  /// Determines how many cores may be used now, adapts the number of threads, and returns the
  /// number of cores. Reads some files of the system. May be called from any thread.
  int update_cores() const;

  const std::shared_ptr<Executor> executor;
  const std::shared_ptr<Memory> memory;
  const std::shared_ptr<SharedChunks> chunks;

 private:
  const CountCores count_usable_cores_;
};

}  // namespace forebay
