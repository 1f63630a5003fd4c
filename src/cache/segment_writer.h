#pragma once

#include <cstdint>
#include <memory>

#include "cache/cache_folder.h"
#include "cache/segment_format.h"

namespace forebay {

/// Appends to the end of a segment that belongs to this process alone. Calls are serialized by the
/// caller's lock, except that several write_data() may run at once.
///
/// A call that writes returns false if the disk refused it. errno says why, and nothing more should
/// be written. Earlier writes remain valid.
class SegmentWriter {
 public:
  /// Continues a segment whose writer is gone, cutting off data that is not in its index, or else
  /// begins a new one. Called under the FolderLock.
  static Result<std::unique_ptr<SegmentWriter>> acquire(const CacheFolder& folder);

  /// Returns whether an entry fits without growing the segment.
  bool fits(uint64_t bytes) const;
  uint64_t data_left() const { return data_limit_ - std::min(data_end_, data_limit_); }
  /// Returns the additional disk space that the segment would use if it could hold this much more.
  uint64_t extra_disk_space(uint64_t data_bytes, uint64_t index_bytes) const;
  /// Raises the limits of the segment. Called under the FolderLock, when there is that much space.
  bool grow(uint64_t data_bytes, uint64_t index_bytes);

  /// Returns the offset for an entry that fits().
  uint64_t allocate(uint64_t bytes);
  bool write_data(uint64_t offset, std::span<const uint8_t> bytes) const;
  /// Makes the entry visible to all processes.
  bool write_row(const SegmentRow& row);
  /// Returns false once the files were removed.
  bool files_exist() const;

 private:
  SegmentWriter(FileDescriptor index, FileDescriptor data) : index_(std::move(index)), data_(std::move(data)) {}
  bool recover();
  bool write_header() const;

  FileDescriptor index_, data_;
  uint64_t data_end_ = 0, data_limit_ = 0;
  uint64_t index_end_ = kSegmentRowBytes, index_limit_ = kSegmentRowBytes;
};

}  // namespace forebay
