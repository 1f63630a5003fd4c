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
  struct MissingEntry {
    size_t stage;
    Hash128 key;
    std::shared_ptr<SingleFlight> flights;
  };

  /// Whether the row does not depend on the flight of another task.
  bool may_proceed() const { return !missing || flight || bypasses_flight; }
  /// The version of the object that was read. Nothing if versions are not learned from reads.
  std::optional<uint64_t> version_read() const {
    return version ? std::optional(version->load(std::memory_order_relaxed)) : std::nullopt;
  }

  std::optional<MissingEntry> missing;
  std::unique_ptr<SingleFlight::Flight> flight;  ///< the right to make the wanted entry
  bool bypasses_flight = false;  ///< the entry is made although a task whose flight is paused has the right
  /// Set if the read tells the key of the entry (VersionQuery). The row is then looked up again.
  std::function<void(uint64_t version, const Buffer& bytes)> answered;
  /// Version of the object that is read; 0 if the store gave none. Null if versions are not
  /// learned.
  std::shared_ptr<std::atomic<uint64_t>> version;
};

}  // namespace forebay
