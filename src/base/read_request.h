#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "forebay/buffer.h"
#include "forebay/status.h"

namespace forebay {

struct ReadRequest {
  /// Name of the object inside its store: a path for files, a key for object stores.
  std::string key;
  /// The whole object when absent. A range that ends behind the object is Corrupt ("shorter than expected").
  std::optional<ByteRange> range;
  /// Size that the listing gave; lets a store read in one go and notice an object that changed (kCorrupt).
  std::optional<uint64_t> expected_size;
  /// Where the size is not known: memory that the reader has set aside. A larger object is kOutOfBudget, with its size as
  /// `bytes_needed()`, before any memory is taken.
  std::optional<uint64_t> set_aside_bytes = {};
  /// The store calls this where that is too little, once it knows the size. It sets aside so many bytes in all and returns
  /// whether there were so many; null means that there are no more. It may be called from any thread and more than once,
  /// and must not block.
  std::function<bool(uint64_t bytes)> set_aside = {};
  /// Memory to read to, where the caller has some of its own: what comes back is its beginning. A store may as well ignore it.
  Buffer into = {};
  /// Where the reader wants to know which version of the object it gets: set before the answer to a number that changes when the
  /// object does, not 0 (of its ETag, or else of Last-Modified and size). Left alone where the store does not tell.
  std::shared_ptr<std::atomic<uint64_t>> version = {};
  /// Only that is wanted: no bytes come. What is wrong with the object is no error then but a version that is not told: whoever reads it will hear
  /// of it. Only for stores that are remote().
  bool version_only = false;
};

}  // namespace forebay
