#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/hash.h"
#include "pipeline/element.h"

namespace forebay {

/// A chunk of a source (a row group, a record batch), from the first request to decoded rows.
/// Chunks moves it through its states; ChunkTable and BlockUses count its users. The run's lock
/// guards it.
struct Chunk : Element {
  int64_t number = 0;
  int holders = 0;      ///< blocks that hold it
  int64_t pins = 0;     ///< tasks that need its memory to stay
  int64_t readers = 0;  ///< pinning tasks that are posted to a compute thread or run there
  /// Another run is making the same chunk, and notifies this one at the end.
  bool awaits_other_run = false;
  /// Key under which other runs share the rows. Unset until it is computed; null if they are not
  /// shared.
  std::optional<std::optional<Hash128>> sharing_key;

  bool is_done() const { return is<Ready>() || is<Failed>(); }
  /// Null unless it is Ready.
  const Columns* rows() const {
    const auto* ready = std::get_if<Ready>(&state);
    return ready != nullptr ? ready->rows.get() : nullptr;
  }
  /// The error of a Failed chunk; OK otherwise.
  Status status() const {
    const auto* failed = std::get_if<Failed>(&state);
    return failed != nullptr ? failed->status : Status();
  }
  /// Releases the stored bytes and enters a state, which holds all memory of the chunk from then
  /// on.
  template <class State>
  void become(State next) {
    bytes = {};
    state = std::move(next);
  }
  /// Bytes claimed for the stored bytes and for the rows. Not for a chunk that is Running.
  uint64_t claimed_bytes() const;
};

}  // namespace forebay
