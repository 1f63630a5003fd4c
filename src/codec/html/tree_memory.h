#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gumbo.h>

#include "base/work_memory.h"
#include "forebay/status.h"

namespace forebay {

/// The memory of one parse tree: taken in growing pieces, each reserved first, and given back together, so that no tree is ever walked to free it.
/// The parser bears no failure of its allocator. Where memory ends, or elements are nested too deep, this leaves the parser by longjmp() to `escape`;
/// status() then says why. One thread.
class TreeMemory {
 public:
  TreeMemory(WorkMemory& memory, uint32_t deepest) : memory_(memory), deepest_(deepest) {}
  ~TreeMemory();
  TreeMemory(const TreeMemory&) = delete;
  TreeMemory& operator=(const TreeMemory&) = delete;

  /// Never null.
  void* allocate(size_t size);
  const Status& status() const { return status_; }
  std::jmp_buf escape;

 private:
  struct Chunk {
    uint8_t* begin;
    size_t size;
  };
  struct NodeHead {
    uint64_t mark;
    uint64_t depth;
  };
  bool grow(size_t least);
  /// Whether the node that was made last is too deep. It is in the tree by the time of the next one.
  bool last_too_deep();
  const NodeHead* head_of(const void* node) const;

  WorkMemory& memory_;
  const uint32_t deepest_;
  std::vector<Chunk> chunks_;
  uint8_t* next_ = nullptr;
  size_t left_ = 0;
  uint64_t reserved_ = 0;
  GumboNode* last_node_ = nullptr;
  Status status_;
};

}  // namespace forebay
