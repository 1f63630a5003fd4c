#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/hash.h"
#include "cluster/message.h"
#include "forebay/buffer.h"

namespace forebay {

/// What a host gives to the others of its job.
class KeySource {
 public:
  virtual ~KeySource() = default;
  /// The bytes of that key, or nothing where they are not here. From any of a transport's threads, which may wait for a disk here;
  /// the bytes must stay as they are for as long as the buffer lives.
  virtual std::optional<Buffer> find(const Hash128& key) = 0;
  /// The same, for sources that answer by what a key was made of.
  virtual std::optional<Buffer> find_wanted(const WantedKey& wanted) { return find(wanted.key); }
  /// Whether this host will make and keep what is made of that element, without having been asked to: then how much it does before, a number that
  /// falls. Asked before find(), so that what is made between them is found. The element is a stranger's word: any number. Must not wait.
  virtual std::optional<uint64_t> coming(int64_t /*element*/) { return std::nullopt; }
};

/// What the source has of each key.
std::vector<FoundKey> find_all(KeySource& source, std::span<const WantedKey> wanted);

}  // namespace forebay
