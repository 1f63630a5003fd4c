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

/// Where the bytes of a chunk are, as the cache or the source said when it was asked.
struct ChunkPlace {
  Store* store = nullptr;  ///< null where nothing is read
  std::vector<ReadRequest> requests;
  std::shared_ptr<const Columns> entry;  ///< the entry of the cache, where it is in memory
  bool cached = false;                   ///< the requests, or `entry`, are those of the cache
};

/// A chunk of a source (a row group, a record batch), in memory or on its way there. Its state holds everything that it was given,
/// so that assigning another state takes all of it back. Guarded by the run's lock; while it is Running, the place, the bytes and the
/// memory in that state belong to a compute thread.
struct Chunk {
  struct Waiting {
    std::optional<ChunkPlace> place;  ///< once it was looked up; a cache counts how often it is asked
  };
  /// Reads are in flight, or wait for a request slot.
  struct Reading {
    ChunkPlace place;
    std::shared_ptr<Claim> claim;   ///< for all bytes that come; reads in flight hold it, too, until they have landed
    size_t asked = 0, awaited = 0;  ///< requests
    std::vector<Buffer> stored{};
    Status failure{};
  };
  /// The stored bytes are at hand.
  struct Read {
    ChunkPlace place;
    std::vector<Buffer>
        stored{};  ///< empty buffers where the compute thread reads them itself, from memory or the page cache
    bool on_thread = false;          ///< it does
    std::shared_ptr<Claim> claim{};  ///< null where nothing is held
  };
  /// Posted to the compute threads, or at work there.
  struct Running {
    Read input;
    Buffer memory;  ///< for the packed rows, or to read an entry to
    Claim rows;  ///< for `memory` and what else becomes rows; goes first, so that the pool has room for what comes back
    Claim working;
    bool begun = false;     ///< at work
    bool given_up = false;  ///< nobody wants what comes of it
  };
  struct Ready {
    std::shared_ptr<const Columns> rows;
    Claim claim;  ///< goes first, as in Running
  };
  /// All of its rows are bad.
  struct Failed {
    Status status;
  };
  std::variant<Waiting, Reading, Read, Running, Ready, Failed> at;

  int64_t number = 0;
  int wanted = 0;       ///< blocks that hold it
  int64_t pins = 0;     ///< tasks that look into its memory, or will
  int64_t lookers = 0;  ///< of these, those that a compute thread is at
  bool awaits = false;  ///< another run is at work on the same chunk, and tells when it is done
  uint64_t needs = 0;   ///< working memory that decoding asked for beyond what it was given
  /// Of its rows, for other runs; unknown at first, then null where they are not to be shared.
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
  /// What is wrong with all of its rows.
  Status status() const {
    const auto* failed = std::get_if<Failed>(&at);
    return failed != nullptr ? failed->status : Status();
  }
  /// Of what was read and of the rows; working memory is not counted.
  uint64_t claimed_bytes() const;
};

}  // namespace forebay
