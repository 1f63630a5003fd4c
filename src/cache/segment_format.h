#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "base/hash.h"

namespace forebay {

/// Begin of an index file. Its writer may grow the segment to these limits without asking again; where nobody holds the
/// index's lock they mean nothing.
struct SegmentHeader {
  uint64_t magic = 0;
  uint64_t version = 0;
  uint64_t data_limit = 0;
  uint64_t index_limit = 0;
  uint64_t reserved[3] = {};
  uint64_t hash = 0;

  static SegmentHeader of(uint64_t data_limit, uint64_t index_limit);
  bool valid() const;
};

/// One entry of a segment, as its index says it. All zeros: an entry that was found damaged.
struct SegmentRow {
  Hash128 id;
  uint64_t offset = 0;  ///< in the data file
  uint64_t bytes = 0;
  double seconds = 0;  ///< what the entry cost to make
  uint64_t reserved[2] = {};
  uint64_t hash = 0;

  static SegmentRow of(const Hash128& id, uint64_t offset, uint64_t bytes, double seconds);
  bool valid() const;
  bool dead() const;
};

inline constexpr uint64_t kSegmentRowBytes = 64;
static_assert(sizeof(SegmentHeader) == kSegmentRowBytes && sizeof(SegmentRow) == kSegmentRowBytes);

/// Bytes of whole rows in an index file of that size, the header included.
inline uint64_t whole_rows(uint64_t index_bytes) { return index_bytes / kSegmentRowBytes * kSegmentRowBytes; }

/// "000017.index".
std::string segment_file(uint32_t number, std::string_view ending);
/// The number in such a name.
std::optional<uint32_t> segment_number(std::string_view name, std::string_view ending);

/// What a file of that size takes of a disk, and what one that may grow to that limit will take with the file system's
/// own bookkeeping.
uint64_t room_of_size(uint64_t bytes);
uint64_t room_of_limit(uint64_t bytes);

}  // namespace forebay
