#pragma once

#include <atomic>
#include <cstdint>

#include "base/reclaimable_memory.h"

namespace forebay {

/// Bytes of stream records in memory, one addend of a loader's sum. They cannot be reclaimed: the
/// records come next. Set by their owner, read from any thread.
class StreamBytes final : public ReclaimableMemory {
 public:
  uint64_t bytes() const override { return bytes_; }
  uint64_t reclaim(uint64_t) override { return 0; }
  void set(uint64_t bytes) { bytes_ = bytes; }

 private:
  std::atomic<uint64_t> bytes_ = 0;
};

}  // namespace forebay
