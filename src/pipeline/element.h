#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "base/columns.h"
#include "forebay/buffer.h"
#include "forebay/status.h"
#include "pipeline/stored_bytes.h"
#include "runtime/claim.h"

namespace forebay {

/// An element of a run: a chunk (`Chunk`), or a task (`RowTask`), which is some rows of a batch.
/// Its stored bytes are fetched, and a compute thread makes rows of them. The run's lock guards the
/// element; while it is Running, its stored bytes belong to a compute thread. An element holds
/// memory only in `bytes` and in its state, so it is revoked by emptying the one and assigning
/// Waiting to the other.
struct Element {
  /// Not begun.
  struct Waiting {};
  /// Only tasks: another task, of this loader or another one, is making the cache entry that this
  /// one needs.
  struct AwaitingEntry {
    uint64_t ticket;  ///< a notification with another ticket belongs to an earlier wait
  };
  /// Reads are in flight, or wait for a request slot.
  struct Reading {
    uint64_t ticket;                 ///< answers with another ticket are stale
    size_t sent = 0, in_flight = 0;  ///< requests sent, and those of them not answered
    Status failure = {};
  };
  /// The stored bytes are in memory, or a compute thread can read them without waiting.
  struct Runnable {};
  /// Posted to the compute threads, or running there.
  struct Running {
    Claim working;                ///< working memory beyond the thread's own
    bool begun = false;           ///< a compute thread has started
    bool discard_result = false;  ///< the chunk was freed meanwhile
    Buffer memory = {};           ///< of a chunk: for the packed rows, or for the bytes of a cache entry
    /// For `memory` and other rows. Returned before `memory` goes back to the pool.
    Claim rows = {};
  };
  /// Only tasks: a call of user code waits or runs.
  struct InUserCode {
    uint64_t ticket;  ///< an answer with another ticket is stale
  };
  /// The rows of a chunk are decoded; those of a task are written into its batch.
  struct Ready {
    std::shared_ptr<const Columns> rows = {};  ///< null for a task
    Claim claim = {};                          ///< returned before the rows, as in Running
  };
  /// All rows of the chunk are bad.
  struct Failed {
    Status status;
  };
  std::variant<Waiting, AwaitingEntry, Reading, Runnable, Running, InUserCode, Ready, Failed> state;

  StoredBytes bytes;
  /// By piece, the size of an object that a read has shown to be larger than estimated, otherwise 0.
  /// Pieces behind the last such one are left out.
  std::vector<uint64_t> observed_bytes;
  /// Working memory beyond the thread's own that the last attempt asked for.
  uint64_t working_needed = 0;

  template <class State>
  bool is() const {
    return std::holds_alternative<State>(state);
  }
};

}  // namespace forebay
