#pragma once

#include <cstdint>

#include "base/byte_count.h"
#include "pipeline/chunk_plan.h"

namespace forebay {

/// Memory that a run claims to decode a chunk.
struct ChunkNeeds {
  uint64_t packed = 0;    ///< bytes of the packed rows, rounded so that other chunks can reuse them
  uint64_t unpacked = 0;  ///< bytes of rows that are not packed
  uint64_t working = 0;   ///< working memory beyond the thread's own
};

/// The memory of the chunks of a plan, one by one. It refers to the plan, which must outlive it.
/// Any thread may call it.
class ChunkMemory {
 public:
  explicit ChunkMemory(const ChunkPlan& plan);

  /// The needs of decoding. `stored`: bytes that the compute thread reads itself. `is_packed`:
  /// these are a cache entry of packed rows, which is used as it was read.
  ChunkNeeds needs(int64_t chunk, uint64_t stored, bool is_packed) const {
    return needs(sizes(chunk), stored, is_packed);
  }

  struct Bytes {
    ByteCount held;      ///< the decoded rows
    ByteCount lists;     ///< part of `held`: values whose length is not known before
    ByteCount decoding;  ///< needed during decoding in addition to `held`; with the stored bytes
  };
  /// Returns the bytes of a usual run: needs(), and the stored bytes.
  Bytes expected(int64_t chunk) const;
  /// Returns bytes that are enough for any contents of the chunk. No part is less than in
  /// expected().
  Bytes most(int64_t chunk) const;
  /// Upper bound of the size of the chunk's cache entry.
  uint64_t max_entry_bytes(int64_t chunk) const;

 private:
  struct Sizes {
    uint64_t rows, stored, decoded;
    uint64_t lists;    // part of `decoded`: values whose length is not known before
    uint64_t columns;  // their number, with those of operators
  };
  Sizes sizes(int64_t chunk) const;
  ChunkNeeds needs(const Sizes& sizes, uint64_t stored, bool is_packed) const;

  const ChunkPlan& plan_;
  uint64_t row_bytes_ = 0;       // of a row of the source in fields of known shape
  uint64_t made_row_bytes_ = 0;  // the same for columns that operators make
  ByteCount list_growth_ = 1;    // bytes of lists after the operators, as a multiple of those before
};

}  // namespace forebay
