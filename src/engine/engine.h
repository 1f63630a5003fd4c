#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "engine/shared_chunks.h"
#include "forebay/engine.h"
#include "runtime/block_source.h"
#include "runtime/executor.h"
#include "runtime/memory.h"

namespace forebay {

/// What all loaders of a process use together: compute threads, memory, and the row groups that any of them holds. It lasts as long as
/// somebody holds it; its threads end with the last one who does.
struct Engine {
  /// As many compute threads as `cores`, unless somebody asks for more. `usable`: how many cores there are now; nothing: always as many.
  explicit Engine(int cores, Executor::Clock clock = monotonic_ns, std::function<int(const Executor&)> usable = {})
      : executor(std::make_shared<Executor>(cores, clock)), memory(Memory::make()), chunks(SharedChunks::make()),
        usable_(std::move(usable)) {}

  /// That of this process, with all cores it may use; made where nobody holds one. A fork's child has one of its own. From any thread.
  static std::shared_ptr<Engine> shared();
  /// What engine() has set for that of this process.
  static EngineLimits limits();

  /// Looks how many cores may be used now, has the threads follow, and gives the number. Takes some files of the system to read;
  /// from any thread.
  int follow_cores() const;

  /// Batches of loaders that are opened from now on lie in memory from there: see `serve`. Before that, in memory of the process.
  void lend_batches_from(std::shared_ptr<BlockSource> blocks);
  std::shared_ptr<BlockSource> batch_blocks() const;

  const std::shared_ptr<Executor> executor;
  const std::shared_ptr<Memory> memory;
  const std::shared_ptr<SharedChunks> chunks;

 private:
  const std::function<int(const Executor&)> usable_;
  mutable std::mutex blocks_mutex_;
  std::shared_ptr<BlockSource> batch_blocks_ = BlockSource::own_memory();
};

}  // namespace forebay
