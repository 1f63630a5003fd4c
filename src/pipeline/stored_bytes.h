#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/entry_cache.h"
#include "base/source.h"
#include "runtime/claim.h"
#include "telemetry/step_counters.h"

namespace forebay {

/// The stored bytes of an element: where a look-up has found them, and the bytes once they are in
/// memory. They belong to a cache entry (in memory, on disk, or at a peer) or to the source. A row
/// has one piece for each object that its sample lies in, a chunk any number. Assigning an empty object releases the memory and the claim.
struct StoredBytes {
  /// One read, and its result.
  struct Piece {
    ReadRequest request;
    Buffer bytes = {};
    Store* store = nullptr;  ///< null: StoredBytes::store
  };
  struct Entry {
    Hash128 key;
    size_t stage = 0;                        ///< the keyed stage that has it; 0 for chunks
    std::shared_ptr<const Columns> columns;  ///< set if the entry is in memory
    std::optional<size_t> piece = {};        ///< the piece that has its bytes, if it is read
  };

  bool looked_up = false;      ///< reused, since a cache counts look-ups
  std::optional<Entry> entry;  ///< nothing if the bytes are those of the source
  /// Entries of single parts of a zip. The pieces are then the objects of the other parts, in their
  /// order, and behind them the entries that are read.
  std::vector<Entry> part_entries = {};
  Store* store = nullptr;  ///< of the first piece; null if nothing is read
  std::vector<Piece> pieces;
  bool pieces_read = false;  ///< all pieces have been read
  Claim claim;               ///< for the bytes of the pieces that are in no flight

  bool has_entry() const { return entry.has_value(); }
  /// True if anything comes from a cache.
  bool has_any_entry() const { return has_entry() || !part_entries.empty(); }
  /// Whether the entry is in memory.
  bool entry_in_memory() const { return entry && entry->columns; }
  /// True if all of the element is in memory because caches had it there.
  bool found_in_memory() const { return entry_in_memory() || (!part_entries.empty() && pieces.empty()); }
  /// Whether a store has to be read before the element can be processed.
  bool needs_read() const { return !pieces_read && !pieces.empty(); }
  /// Bytes of all pieces; an estimate if a request has no expected size and has not been answered.
  uint64_t size() const;
  Store& store_of(const Piece& piece) const { return piece.store != nullptr ? *piece.store : *store; }
  /// The bytes of an element with at most one piece.
  Buffer only() const { return pieces.empty() ? Buffer() : pieces.front().bytes; }
  /// The bytes of each piece.
  std::vector<Buffer> all() const;

  /// Looks an entry up. Returns false, and changes nothing, if the cache does not have it.
  bool find(EntryCache& cache, const EntryRef& ref, size_t stage);
  /// Adds the entry of a part in the same way. Its piece, if any, is the last one.
  bool find_part(EntryCache& cache, const EntryRef& ref, size_t stage);
  /// Sets the pieces of a sample.
  void set(SampleSource::Fetch fetch);
  /// Sets at least `bytes[i]` aside for piece i if its size is a guess.
  void set_aside(std::span<const uint64_t> bytes);
  /// Reads all pieces on the calling thread, to `into` if it has memory. Nothing if a read would
  /// have to wait. `samples` is the number that each piece counts as.
  std::optional<Status> read_now(StepCounters& counters, int64_t samples, const Buffer& into = {});
};

/// Bytes that the request reads, as far as they are known.
uint64_t size_of(const ReadRequest& request);

}  // namespace forebay
