#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "forebay/status.h"

namespace forebay {

/// Pins each object of a store to the version that was first read, so that an object that changes
/// during a run is an error and never a mixture.
///
/// A pin takes sixteen bytes, and there are at most `capacity` (16 MiB by default). Beyond that
/// some are forgotten; their objects are pinned again at the next read. Methods may be called from
/// any thread.
class ObjectPins {
 public:
  static constexpr size_t kDefaultCapacity = size_t{1} << 20;
  explicit ObjectPins(size_t capacity = kDefaultCapacity);

  /// Pins the object to `tag` (its ETag, or what else distinguishes its versions) at the first
  /// call. Later calls return kCorrupt ("changed ...") if the tag differs. An empty tag is ignored.
  Status check(std::string_view key, std::string_view tag);
  /// Returns an object that a reader holds while it reads. It holds `owner`, which holds the pins.
  /// When the last reader ends, all pins are forgotten.
  std::shared_ptr<void> begin_reading(std::shared_ptr<void> owner);
  /// Forgets an object that was written on purpose.
  void forget(std::string_view key);

  size_t size() const;

 private:
  struct Pin {
    uint64_t key = 0, tag = 0;  ///< hashes; a key of 0 marks a free slot
  };
  static constexpr size_t kWays = 8;  ///< slots of a set; a key may occupy any slot of its set
  Pin* find(uint64_t key) FOREBAY_REQUIRES(mutex_);
  Pin* slot_for(uint64_t key) FOREBAY_REQUIRES(mutex_);
  void grow() FOREBAY_REQUIRES(mutex_);

  const size_t capacity_;
  mutable Mutex mutex_;
  std::vector<Pin> pins_ FOREBAY_GUARDED_BY(mutex_);
  size_t used_ FOREBAY_GUARDED_BY(mutex_) = 0;
  size_t readers_ FOREBAY_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay
