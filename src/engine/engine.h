#pragma once

#include <functional>
#include <memory>

#include "base/mutex.h"
#include "engine/shared_chunks.h"
#include "forebay/engine.h"
#include "runtime/block_source.h"
#include "runtime/executor.h"
#include "runtime/memory.h"

namespace forebay {

/// Resources that all loaders of a process share: compute threads, memory, and the decoded chunks
/// that any of them holds. Loaders share ownership; the threads end with the last owner.
struct Engine {
  /// Compute threads are limited to `cores`, unless a user asks for more. `usable` gives the number
  /// of cores available now; if empty, the number never changes.
  explicit Engine(int cores, Executor::Clock clock = monotonic_ns, std::function<int(const Executor&)> usable = {})
      : executor(std::make_shared<Executor>(cores, clock)), memory(Memory::make()), chunks(SharedChunks::make()),
        usable_(std::move(usable)) {}

  /// The engine of this process, which may use all cores available to the process. Made if there is
  /// none. The child of a fork has its own. May be called from any thread.
  static std::shared_ptr<Engine> shared();
  /// The limits that engine() has set for this process.
  static EngineLimits limits();

  /// Determines how many cores may be used now, adapts the number of threads, and returns the
  /// number of cores. Reads some files of the system. May be called from any thread.
  int update_cores() const;

  /// Sets where loaders that are opened from now on allocate their batches (see `serve`). The
  /// default is memory of this process.
  void set_batch_source(std::shared_ptr<BlockSource> blocks);
  std::shared_ptr<BlockSource> batch_blocks() const;

  const std::shared_ptr<Executor> executor;
  const std::shared_ptr<Memory> memory;
  const std::shared_ptr<SharedChunks> chunks;

 private:
  const std::function<int(const Executor&)> usable_;
  mutable Mutex blocks_mutex_;
  std::shared_ptr<BlockSource> batch_blocks_ FOREBAY_GUARDED_BY(blocks_mutex_) = BlockSource::own_memory();
};

}  // namespace forebay
