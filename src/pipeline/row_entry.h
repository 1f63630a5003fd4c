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

/// What the keyed stages have of a row's sample, and what has to be made for them. Belongs to the row's task.
class RowEntry {
 public:
  /// The result of a stage is in memory: the stages behind it go on with it.
  struct Hit {
    size_t stage;
    std::shared_ptr<const Columns> columns;
  };
  /// Its bytes are on a disk, or with another host: they are read in place of the object.
  struct Stored {
    size_t stage;
    Hash128 key;
    SampleSource::Fetch fetch;
  };
  /// A result that others may be making, too.
  struct Wanted {
    size_t stage;
    Hash128 key;
    std::shared_ptr<SingleFlight> flights;
  };

  bool in_cache() const { return hit() != nullptr || stored() != nullptr; }
  const Hit* hit() const { return std::get_if<Hit>(&found); }
  const Stored* stored() const { return std::get_if<Stored>(&found); }
  /// Something else than the object or its entry is read first.
  const KeyQuestion* question() const { return std::get_if<KeyQuestion>(&found); }
  /// Whether the row goes on by itself: it was looked up, and nobody else makes what is missing, or it is made beside them.
  bool settled() const { return looked_up && (!wanted || making || beside); }
  /// Tells that version of the object was read for it, where that is learned.
  std::optional<uint64_t> version_read() const {
    return version ? std::optional(version->load(std::memory_order_relaxed)) : std::nullopt;
  }

  bool looked_up = false;  ///< `found` says what there is
  std::variant<std::monostate, Hit, Stored, KeyQuestion> found;
  std::optional<Wanted> wanted;
  std::unique_ptr<SingleFlight::Flight> making;    ///< the right to make what is wanted
  bool beside = false;                             ///< it is made without that right, since its maker rests
  std::shared_ptr<std::atomic<uint64_t>> version;  ///< of what is read; 0: not told. Null where nobody learns it
};

}  // namespace forebay
