#pragma once

#include <cstddef>

#include "base/hash.h"

namespace forebay {

/// Hash for containers whose keys are hashes already.
struct HashOfHash {
  size_t operator()(const Hash128& id) const { return static_cast<size_t>(id.low); }
};
struct HashOrder {
  bool operator()(const Hash128& a, const Hash128& b) const {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
  }
};

}  // namespace forebay
