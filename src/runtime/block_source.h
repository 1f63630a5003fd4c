#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace forebay {

/// Provides the memory of batches: from the heap of this process, memory that other processes may
/// map, or memory of the user's framework. May be called from any thread.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// A block, 64-byte aligned, not initialised; null if there is no memory.
  virtual uint8_t* allocate(size_t bytes) = 0;
  /// Frees a block of the size that was allocated. It may also run in the child of a fork, where it
  /// must not touch objects of the parent.
  virtual void free(uint8_t* block, size_t bytes) = 0;
  /// Whether the source decides itself which freed blocks are allocated again. A BufferPool must then
  /// free each block as soon as its last reader releases it.
  virtual bool keeps_freed() const { return false; }

  /// Memory of this process alone (base/blocks.h).
  static std::shared_ptr<BlockSource> own_memory();
};

}  // namespace forebay
