#pragma once

#include <cstdint>
#include <memory>

#include "cache/cache_folder.h"
#include "cache/segment_format.h"

namespace forebay {

/// Appends entries to a segment: a data file and its index file. The writer holds the lock of the
/// segment, so no other process appends to it. The caller's lock serializes all calls except
/// write_data(), which several threads may run at once.
///
/// An entry is allocate()d, written by write_data(), and visible to readers after write_row(). A
/// call that writes returns false if the disk refused it: errno says why, and the caller must not
/// write again. Earlier writes remain valid.
class SegmentWriter {
 public:
  /// Takes over a segment whose writer has ended, after cutting off data without a row, or else
  /// creates one. Called under the FolderLock.
  static Result<std::unique_ptr<SegmentWriter>> acquire(const CacheFolder& folder);

  /// Returns whether an entry fits into the space that the segment has reserved.
  bool fits(uint64_t bytes) const;
  uint64_t data_left() const { return data_limit_ - std::min(data_end_, data_limit_); }
  /// Returns the disk space to reserve before grow() with these arguments.
  uint64_t extra_disk_space(uint64_t data_bytes, uint64_t index_bytes) const;
  /// Reserves space for that much more. Called under the FolderLock, after extra_disk_space() was
  /// found to be free.
  bool grow(uint64_t data_bytes, uint64_t index_bytes);

  /// Allocates an entry that fits() and returns its offset in the data file.
  uint64_t allocate(uint64_t bytes);
  bool write_data(uint64_t offset, std::span<const uint8_t> bytes) const;
  /// Makes the entry visible to all processes.
  bool write_row(const SegmentRow& row);
  /// Returns false once either file was removed.
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
