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

/// The cache entry that a row's look-up missed, and the right to make it. It is part of the row's
/// task and guarded like it: by the run's lock, or by the compute thread that works on the row.
struct RowEntry {
  /// An entry that no cache has. Another task of this process may be making it.
  struct MissingEntry {
    size_t stage;
    Hash128 key;
    std::shared_ptr<SingleFlight> flights;
  };

  /// Whether the row need not wait for another task to make the entry.
  bool may_proceed() const { return !missing || flight || bypasses_flight; }
  /// Whether the task first has to join the flight of this stage's entry, or get the right to make
  /// the entry.
  bool must_join_flight(size_t stage) const { return !may_proceed() && missing->stage == stage; }
  /// The version of the object that was read. Nothing if versions are not learned from reads.
  std::optional<uint64_t> version_read() const {
    return version ? std::optional(version->load(std::memory_order_relaxed)) : std::nullopt;
  }

  std::optional<MissingEntry> missing;
  std::unique_ptr<SingleFlight::Flight> flight;  ///< the right to make `missing`
  /// The entry is made although another task has the right to, because that task's flight is
  /// paused.
  bool bypasses_flight = false;
  /// VersionQuery::on_read, if the row's read is a version query. The row is looked up again after
  /// that read.
  std::function<void(uint64_t version, const Buffer& bytes)> on_version_read;
  /// Version of the object that is read; the store sets it, and 0 means that it gave none. Null if
  /// versions are not learned from reads.
  std::shared_ptr<std::atomic<uint64_t>> version;
};

}  // namespace forebay
