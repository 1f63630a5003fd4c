#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "forebay/status.h"

namespace forebay {

/// What was seen of objects when they were first read, so that one that changes under a run is an error and never a mixture.
///
/// Sixteen bytes an object, at most `capacity` objects (16 MiB by default); beyond that some are forgotten, and are pinned
/// again when they are read next. Any thread may use it.
class ObjectPins {
 public:
  static constexpr size_t kDefaultCapacity = size_t{1} << 20;
  explicit ObjectPins(size_t capacity = kDefaultCapacity);

  /// Pins the object to `tag` (its ETag, or what else tells its versions apart) the first time; later kCorrupt
  /// ("changed ...") where the tag is another. An empty tag says nothing and pins nothing.
  Status check(std::string_view key, std::string_view tag);
  /// Somebody reads, for as long as that lives (and the pins with it: `owner` holds them). With the last one all pins are forgotten.
  std::shared_ptr<void> begin_reading(std::shared_ptr<void> owner);
  /// For an object that was written on purpose.
  void forget(std::string_view key);

  size_t size() const;

 private:
  struct Pin {
    uint64_t key = 0, tag = 0;  ///< hashes; a key of 0 is a free place
  };
  static constexpr size_t kWays = 8;  ///< places that a key may have
  Pin* find(uint64_t key);
  Pin* place_for(uint64_t key);
  void grow();

  const size_t capacity_;
  mutable std::mutex mutex_;
  std::vector<Pin> pins_;
  size_t used_ = 0;
  size_t readers_ = 0;
};

}  // namespace forebay
