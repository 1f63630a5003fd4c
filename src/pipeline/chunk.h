#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/columns.h"
#include "base/hash.h"
#include "base/read_request.h"
#include "runtime/claim.h"

namespace forebay {

class Store;

/// The location of a chunk's bytes, in the cache or in the source.
struct ChunkPlace {
  Store* store = nullptr;  ///< null if nothing is read
  std::vector<ReadRequest> requests;
  std::shared_ptr<const Columns> entry;  ///< the cache entry, if it is in memory
  bool cached = false;                   ///< the requests or `entry` belong to the cache
};

/// A chunk of a source (a row group, a record batch), from the first request to decoded rows. Its
/// state holds all memory and claims that it was given, so assigning another state releases them.
/// The run's lock guards it. While it is Running, the members `input` and `memory` of that state
/// belong to a compute thread.
struct Chunk {
  struct Waiting {
    std::optional<ChunkPlace> place;  ///< result of the look-up, reused since a cache counts these
  };
  /// Reads are in flight, or wait for a request slot.
  struct Reading {
    ChunkPlace place;
    std::shared_ptr<Claim> claim;   ///< for all bytes; reads in flight share it until they end
    size_t asked = 0, awaited = 0;  ///< requests sent, and those of them not answered
    std::vector<Buffer> stored{};
    Status failure{};
  };
  /// The stored bytes are in memory, or a compute thread can read them without waiting.
  struct Read {
    ChunkPlace place;
    std::vector<Buffer> stored{};    ///< empty buffers if `on_thread`
    bool on_thread = false;          ///< the compute thread reads them, from memory or page cache
    std::shared_ptr<Claim> claim{};  ///< null if nothing is held
  };
  /// Posted to the compute threads, or being decoded there.
  struct Running {
    Read input;
    Buffer memory;  ///< for the packed rows, or for the bytes of a cache entry
    Claim rows;     ///< for `memory` and other rows; returned before `memory` goes back to the pool
    Claim working;
    bool begun = false;     ///< a compute thread has started
    bool given_up = false;  ///< the result is dropped
  };
  struct Ready {
    std::shared_ptr<const Columns> rows;
    Claim claim;  ///< returned before the rows, as in Running
  };
  /// All of its rows are bad.
  struct Failed {
    Status status;
  };
  std::variant<Waiting, Reading, Read, Running, Ready, Failed> at;

  int64_t number = 0;
  int wanted = 0;       ///< blocks that hold it
  int64_t pins = 0;     ///< tasks that use its memory, or will
  int64_t lookers = 0;  ///< pinning tasks that are posted to a compute thread or run there
  bool awaits = false;  ///< another run is making the same chunk, and notifies this one at the end
  uint64_t needs = 0;   ///< working memory beyond the thread's own that decoding asked for
  /// Key under which other runs share the rows. Unset until it is computed; null if they are not
  /// shared.
  std::optional<std::optional<Hash128>> identity;

  template <class State>
  bool is() const {
    return std::holds_alternative<State>(at);
  }
  bool ended() const { return is<Ready>() || is<Failed>(); }
  /// Null unless it is Ready.
  const Columns* rows() const {
    const auto* ready = std::get_if<Ready>(&at);
    return ready != nullptr ? ready->rows.get() : nullptr;
  }
  /// The error of a Failed chunk; OK otherwise.
  Status status() const {
    const auto* failed = std::get_if<Failed>(&at);
    return failed != nullptr ? failed->status : Status();
  }
  /// Bytes claimed for what was read and for the rows. Working memory is not counted.
  uint64_t claimed_bytes() const;
};

}  // namespace forebay
