#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "base/hash.h"

namespace forebay {

/// First row of an index file. The limits are the sizes to which the segment's writer may let its
/// files grow without taking the FolderLock. They are void if no process holds the lock of the
/// index file.
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

/// Index row of one entry of a segment. All zeros mark an entry that was found damaged.
struct SegmentRow {
  Hash128 id;
  uint64_t offset = 0;  ///< in the data file
  uint64_t bytes = 0;
  double seconds = 0;  ///< cost of computing the entry
  uint64_t reserved[2] = {};
  uint64_t hash = 0;

  static SegmentRow of(const Hash128& id, uint64_t offset, uint64_t bytes, double seconds);
  bool valid() const;
  bool dead() const;
};

inline constexpr uint64_t kSegmentRowBytes = 64;
static_assert(sizeof(SegmentHeader) == kSegmentRowBytes && sizeof(SegmentRow) == kSegmentRowBytes);

/// Returns the bytes of whole rows in an index file of that size, including the header.
inline uint64_t whole_rows(uint64_t index_bytes) { return index_bytes / kSegmentRowBytes * kSegmentRowBytes; }

/// Returns a file name such as "000017.index".
std::string segment_file(uint32_t number, std::string_view ending);
/// Returns the number in such a name.
std::optional<uint32_t> segment_number(std::string_view name, std::string_view ending);

/// Return the disk space of a file of that size, and of a file that may grow to that limit. The
/// second includes the block trees of the file system.
uint64_t disk_space_of_size(uint64_t bytes);
uint64_t disk_space_of_limit(uint64_t bytes);

}  // namespace forebay
