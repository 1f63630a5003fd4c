#include "codec/html/tree_memory.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr size_t kFirstChunkBytes = 64 << 10;
constexpr size_t kLargestChunkBytes = 4 << 20;
constexpr size_t kAlignment = 16;
constexpr uint64_t kNodeMark = 0x6b7f3a9d51c2e84f;

}  // namespace

TreeMemory::~TreeMemory() {
  for (const Chunk& chunk : chunks_) std::free(chunk.begin);
  memory_.release(reserved_);
}

bool TreeMemory::grow(size_t least) {
  const size_t usual = chunks_.empty() ? kFirstChunkBytes : std::min(2 * chunks_.back().size, kLargestChunkBytes);
  const size_t size = std::max(usual, least);
  status_ = memory_.reserve(size);
  if (!status_.ok()) return false;
  reserved_ += size;
  auto* const begin = static_cast<uint8_t*>(std::malloc(size));
  if (begin == nullptr) {
    status_ = Status(Code::kOutOfBudget, fmt::format("there is no memory for {} bytes of a parse tree", size));
    return false;
  }
  chunks_.push_back({begin, size});
  next_ = begin;
  left_ = size;
  return true;
}

// The parser's stack of open elements is walked for every tag, so a page of tags alone would take time that grows with its square. How deep it is shows
// in the nodes: each knows its parent when the next is made. What has the size of a node may be something else, so nothing in it is believed unchecked.
bool TreeMemory::last_too_deep() {
  if (last_node_ == nullptr) return false;
  const NodeHead* const parent = head_of(last_node_->parent);
  if (parent == nullptr) return false;
  const uint64_t depth = parent->depth + 1;
  reinterpret_cast<NodeHead*>(last_node_)[-1].depth = depth;
  return depth > deepest_;
}

const TreeMemory::NodeHead* TreeMemory::head_of(const void* node) const {
  const auto at = reinterpret_cast<uintptr_t>(node);
  if (at % kAlignment != 0) return nullptr;
  for (const Chunk& chunk : chunks_) {
    const auto begin = reinterpret_cast<uintptr_t>(chunk.begin);
    if (at < begin + sizeof(NodeHead) || at > begin + chunk.size) continue;
    const auto* const head = reinterpret_cast<const NodeHead*>(node) - 1;
    return head->mark == kNodeMark ? head : nullptr;
  }
  return nullptr;
}

void* TreeMemory::allocate(size_t size) {
  const bool node = size == sizeof(GumboNode);
  const size_t head = node ? sizeof(NodeHead) : 0;
  const size_t bytes = (size + head + kAlignment - 1) / kAlignment * kAlignment;
  if (node && last_too_deep()) {
    status_ = Status(Code::kUnsupported, fmt::format("elements are nested more than {} deep", deepest_));
    std::longjmp(escape, 1);
  }
  if (bytes > left_ && !grow(bytes)) std::longjmp(escape, 1);
  uint8_t* const at = next_;
  next_ += bytes;
  left_ -= bytes;
  if (!node) return at;
  *reinterpret_cast<NodeHead*>(at) = {kNodeMark, 0};
  last_node_ = reinterpret_cast<GumboNode*>(at + head);
  last_node_->parent = nullptr;
  return last_node_;
}

}  // namespace forebay
