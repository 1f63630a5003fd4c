#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/single_flight.h"
#include "pipeline/keyed_stage.h"

namespace forebay {

/// The cache entry that a row's look-up missed, and the right to make it. It belongs to the row's
/// task.
struct RowEntry {
  /// A missing entry that another task may be making.
  struct Wanted {
    size_t stage;
    Hash128 key;
    std::shared_ptr<SingleFlight> flights;
  };

  /// Whether the row does not depend on the flight of another task.
  bool is_free() const { return !wanted || making || without_right; }
  /// The version of the object that was read. Nothing if versions are not learned from reads.
  std::optional<uint64_t> version_read() const {
    return version ? std::optional(version->load(std::memory_order_relaxed)) : std::nullopt;
  }

  std::optional<Wanted> wanted;
  std::unique_ptr<SingleFlight::Flight> making;  ///< the right to make the wanted entry
  bool without_right = false;  ///< the entry is made although a task whose flight is paused has the right
  /// Set if the read tells the key of the entry (KeyQuestion). The row is then looked up again.
  std::function<void(uint64_t version, const Buffer& bytes)> answered;
  /// Version of the object that is read; 0 if the store gave none. Null if versions are not
  /// learned.
  std::shared_ptr<std::atomic<uint64_t>> version;
};

}  // namespace forebay
