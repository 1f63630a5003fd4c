#include "codec/tokenizer/byte_trie.h"

#include <utility>

namespace forebay {

void ByteTrie::add(std::string_view text, int32_t value) {
  uint32_t node = kRoot;
  for (const char byte : text) {
    uint32_t after = next(node, byte);
    if (after == kNoNode) {
      after = static_cast<uint32_t>(values_.size());
      values_.push_back(kNone);
      // Grows before the insertion, so that a free slot always ends a search.
      if (values_.size() * 2 > slots_.size()) {
        const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
        for (const Slot& slot : before) {
          if (slot.key != kEmpty) put(slot);
        }
      }
      put({key_of(node, byte), after});
    }
    node = after;
  }
  values_[node] = value;
}

void ByteTrie::put(Slot slot) {
  size_t at = first_slot(slot.key);
  while (slots_[at].key != kEmpty) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = slot;
}

}  // namespace forebay
