#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace forebay {

/// Where the memory of batches comes from: the heap of this process, or memory that others may map. From any thread.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// 64-byte aligned, not initialised; null where there is none.
  virtual uint8_t* allocate(size_t bytes) = 0;
  /// `bytes`: as allocated. Also in the child of a fork, where nothing of the parent's may be touched.
  virtual void free(uint8_t* block, size_t bytes) = 0;

  /// Of this process alone (base/blocks.h).
  static std::shared_ptr<BlockSource> own_memory();
};

}  // namespace forebay
