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
  /// The range to read; the whole object if absent. A range that ends past the object is Corrupt
  /// ("shorter than expected").
  std::optional<ByteRange> range;
  /// Size from the listing. Lets a store read in one go, and detect an object that changed
  /// (Corrupt).
  std::optional<uint64_t> expected_size;
  /// Memory that the reader has set aside, for objects of unknown size. A larger object gives
  /// OutOfBudget before any memory is taken, with its size as `bytes_needed()`.
  std::optional<uint64_t> set_aside_bytes = {};
  /// The store calls this once it knows that the object is larger than `set_aside_bytes`. It sets
  /// aside `bytes` in all, and returns whether that much was available. Null means that no more can
  /// be set aside. It may be called from any thread and more than once, and must not block.
  std::function<bool(uint64_t bytes)> set_aside = {};
  /// The caller's own memory to read to; the result is then its beginning. A store may ignore it.
  Buffer into = {};
  /// Set if the reader wants the version of the object. The store writes it before it answers: a
  /// number that changes when the object does and is not 0, made of its ETag, or else of
  /// Last-Modified and size. A store without versions leaves it alone.
  std::shared_ptr<std::atomic<uint64_t>> version = {};
  /// Asks for the version alone; no bytes are returned. An error of the object then gives no
  /// version instead of a failure: the later read of the object reports it. Only for stores that
  /// are remote().
  bool version_only = false;
};

}  // namespace forebay
