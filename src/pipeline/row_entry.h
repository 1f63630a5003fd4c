#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/single_flight.h"
#include "pipeline/keyed_stage.h"

namespace forebay {

/// Result of looking up a row's sample in the keyed stages, and the right to make a missing entry.
/// It belongs to the row's task.
class RowEntry {
 public:
  /// An entry in memory. Processing continues with the stage after it.
  struct Hit {
    size_t stage;
    std::shared_ptr<const Columns> columns;
  };
  /// An entry on disk or at a peer. Its bytes are read in place of the object.
  struct Stored {
    size_t stage;
    Hash128 key;
    SampleSource::Fetch fetch;
  };
  /// A missing entry that another task may be making.
  struct Wanted {
    size_t stage;
    Hash128 key;
    std::shared_ptr<SingleFlight> flights;
  };

  bool in_cache() const { return hit() != nullptr || stored() != nullptr; }
  const Hit* hit() const { return std::get_if<Hit>(&found); }
  const Stored* stored() const { return std::get_if<Stored>(&found); }
  /// A read that has to come first, since it tells the key of the entry.
  const KeyQuestion* question() const { return std::get_if<KeyQuestion>(&found); }
  /// Whether the row can continue: it was looked up, and it does not depend on the flight of
  /// another task.
  bool settled() const { return looked_up && (!wanted || making || beside); }
  /// The version of the object that was read. Nothing if versions are not learned from reads.
  std::optional<uint64_t> version_read() const {
    return version ? std::optional(version->load(std::memory_order_relaxed)) : std::nullopt;
  }

  bool looked_up = false;  ///< `found` is the result of the look-up
  std::variant<std::monostate, Hit, Stored, KeyQuestion> found;
  std::optional<Wanted> wanted;
  std::unique_ptr<SingleFlight::Flight> making;  ///< the right to make the wanted entry
  bool beside = false;  ///< the entry is made without that right, since the task that has it rests
  /// Version of the object that is read; 0 if the store gave none. Null if versions are not
  /// learned.
  std::shared_ptr<std::atomic<uint64_t>> version;
};

}  // namespace forebay
