#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace forebay {

/// A trie that maps texts to numbers, one edge per byte. Edges are in one hash table. Immutable
/// once filled; any thread may then use it.
class ByteTrie {
 public:
  static constexpr uint32_t kRoot = 0, kNoNode = UINT32_MAX;
  static constexpr int32_t kNone = -1;
  static constexpr size_t kMostBytes = 64 << 20;  ///< limit of the total text size for add()

  ByteTrie() : slots_(64), values_(1, kNone) {}
  /// `value` must be >= 0. If a text is added twice, the last value counts.
  void add(std::string_view text, int32_t value);

  uint32_t next(uint32_t node, char byte) const {
    const uint64_t key = key_of(node, byte);
    for (size_t at = first_slot(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key == key) return slots_[at].node;
      if (slots_[at].key == kEmpty) return kNoNode;
    }
  }
  /// The value of the text that ends at `node`; kNone if there is none.
  int32_t value(uint32_t node) const { return values_[node]; }
  /// The node of `text`, or kNoNode.
  uint32_t walk(std::string_view text) const {
    uint32_t node = kRoot;
    for (size_t i = 0; i < text.size() && node != kNoNode; ++i) node = next(node, text[i]);
    return node;
  }
  int32_t find(std::string_view text) const {
    const uint32_t node = walk(text);
    return node == kNoNode ? kNone : value(node);
  }

 private:
  static constexpr uint64_t kEmpty = UINT64_MAX;
  struct Slot {
    uint64_t key = kEmpty;
    uint32_t node = 0;
  };
  static uint64_t key_of(uint32_t node, char byte) {
    return static_cast<uint64_t>(node) << 8 | static_cast<uint8_t>(byte);
  }
  size_t first_slot(uint64_t key) const {
    key *= 0x9e3779b97f4a7c15;
    return static_cast<size_t>(key ^ key >> 32) & (slots_.size() - 1);
  }
  void put(Slot slot);

  std::vector<Slot> slots_;  ///< a power of two, at most half full
  std::vector<int32_t> values_;
};

}  // namespace forebay
