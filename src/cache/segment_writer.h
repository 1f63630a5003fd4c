#pragma once

#include <cstdint>
#include <memory>

#include "cache/cache_folder.h"
#include "cache/segment_format.h"

namespace forebay {

/// The end of a segment that this process alone appends to. The caller's lock makes calls follow each other, except that
/// several write_data() may run at once.
/// False from a call that writes: the disk refused, errno says why, and nothing more should be written. What was written before stays
/// right.
class SegmentWriter {
 public:
  /// Goes on with a segment whose writer is gone (what it had not put into the index is cut off), else begins a new one. Under
  /// the FolderLock.
  static Result<std::unique_ptr<SegmentWriter>> acquire(const CacheFolder& place);

  /// Whether an entry fits without asking for more room.
  bool fits(uint64_t bytes) const;
  uint64_t data_left() const { return data_limit_ - std::min(data_end_, data_limit_); }
  /// Room of the disk that the segment would take more than now, if it may hold so much more.
  uint64_t room_for(uint64_t data_bytes, uint64_t index_bytes) const;
  /// May grow by that from here on. Under the FolderLock, when there is that much room.
  bool grow(uint64_t data_bytes, uint64_t index_bytes);

  /// A place for an entry that fits().
  uint64_t take_place(uint64_t bytes);
  bool write_data(uint64_t offset, std::span<const uint8_t> bytes) const;
  /// The entry is there for all to see.
  bool write_row(const SegmentRow& row);
  /// False once the files were removed.
  bool still_there() const;

 private:
  SegmentWriter(FileDescriptor index, FileDescriptor data) : index_(std::move(index)), data_(std::move(data)) {}
  bool take_over();
  bool write_header() const;

  FileDescriptor index_, data_;
  uint64_t data_end_ = 0, data_limit_ = 0;
  uint64_t index_end_ = kSegmentRowBytes, index_limit_ = kSegmentRowBytes;
};

}  // namespace forebay
