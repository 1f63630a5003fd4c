#pragma once

#include <optional>

#include "base/hash.h"
#include "forebay/buffer.h"

namespace forebay {

/// What a host gives to the others of its job.
class KeySource {
 public:
  virtual ~KeySource() = default;
  /// The bytes of that key, or nothing where they are not here. From any of a transport's threads, which may wait for a disk here;
  /// the bytes must stay as they are for as long as the buffer lives.
  virtual std::optional<Buffer> find(const Hash128& key) = 0;
};

}  // namespace forebay
