#include "cache/segment_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/read_all.h"
#include "cache/entry_form.h"

namespace forebay {

namespace {

constexpr uint32_t kMaxSegments = 4096;  // more than there are ever writers at once
constexpr size_t kRowsAtATime = 4096;

uint64_t size_of(int fd) {
  struct ::stat info;
  return ::fstat(fd, &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

}  // namespace

Result<std::unique_ptr<SegmentWriter>> SegmentWriter::acquire(const CacheFolder& folder) {
  for (uint32_t number = 0; number < kMaxSegments; ++number) {
    FOREBAY_ASSIGN(FileDescriptor index, folder.open_file(segment_file(number, kIndexEnding), O_RDWR | O_CREAT));
    // A writer uses it. The lock lives with the descriptor, so the kernel frees the segment of a
    // killed writer.
    if (!try_flock(index.get(), LOCK_EX)) continue;
    FOREBAY_ASSIGN(FileDescriptor data, folder.open_file(segment_file(number, kDataEnding), O_RDWR | O_CREAT));
    std::unique_ptr<SegmentWriter> writer(new SegmentWriter(std::move(index), std::move(data)));
    if (writer->recover()) return writer;
  }
  return unavailable("every segment is taken");
}

bool SegmentWriter::recover() {
  SegmentHeader header;
  const bool readable = read_all(index_.get(), &header, sizeof header, 0) && header.valid();
  if (!readable && size_of(index_.get()) > 0) {
    // The writer was killed before its first row, or the file is damaged: the entries are computed
    // again. A reader that was beyond the new end misses rows until it opens the cache again, and
    // reads none twice.
    if (::ftruncate(index_.get(), 0) != 0) return false;
  }
  const uint64_t data_bytes = size_of(data_.get());
  if (readable) {
    index_end_ = std::max(whole_rows(size_of(index_.get())), kSegmentRowBytes);
    std::vector<SegmentRow> rows(kRowsAtATime);
    for (uint64_t at = kSegmentRowBytes; at < index_end_;) {
      const uint64_t bytes = std::min(index_end_ - at, rows.size() * kSegmentRowBytes);
      if (!read_all(index_.get(), rows.data(), bytes, at)) return false;
      for (uint64_t i = 0; i < bytes / kSegmentRowBytes; ++i) {
        const SegmentRow& row = rows[i];
        if (row.valid() && row.offset + row.bytes <= data_bytes) {
          data_end_ = std::max(data_end_, to_entry_alignment(row.offset + row.bytes));
        } else if (!row.dead()) {
          // It names bytes that do not exist, where another entry will be written next.
          const SegmentRow dead{};
          if (!write_all(index_.get(), &dead, sizeof dead, at + i * kSegmentRowBytes)) return false;
        }
      }
      at += bytes;
    }
    if (size_of(index_.get()) > index_end_ && ::ftruncate(index_.get(), static_cast<off_t>(index_end_)) != 0)
      return false;
  }
  // Data without a row was being written when its writer died.
  if (data_bytes > data_end_ && ::ftruncate(data_.get(), static_cast<off_t>(data_end_)) != 0) return false;
  data_limit_ = data_end_;
  index_limit_ = index_end_;
  return write_header();
}

bool SegmentWriter::write_header() const {
  const SegmentHeader header = SegmentHeader::of(data_limit_, index_limit_);
  return write_all(index_.get(), &header, sizeof header, 0);
}

bool SegmentWriter::fits(uint64_t bytes) const {
  return bytes <= data_left() && kSegmentRowBytes <= index_limit_ - index_end_;
}

uint64_t SegmentWriter::extra_disk_space(uint64_t data_bytes, uint64_t index_bytes) const {
  return disk_space_of_limit(std::max(data_limit_, data_end_ + data_bytes)) - disk_space_of_limit(data_limit_) +
         disk_space_of_limit(std::max(index_limit_, index_end_ + index_bytes)) - disk_space_of_limit(index_limit_);
}

bool SegmentWriter::grow(uint64_t data_bytes, uint64_t index_bytes) {
  data_limit_ = std::max(data_limit_, data_end_ + data_bytes);
  index_limit_ = std::max(index_limit_, index_end_ + index_bytes);
  return write_header();
}

uint64_t SegmentWriter::allocate(uint64_t bytes) {
  const uint64_t offset = data_end_;
  data_end_ += to_entry_alignment(bytes);
  return offset;
}

bool SegmentWriter::write_data(uint64_t offset, std::span<const uint8_t> bytes) const {
  return write_all(data_.get(), bytes.data(), bytes.size(), offset);
}

bool SegmentWriter::write_row(const SegmentRow& row) {
  if (!write_all(index_.get(), &row, sizeof row, index_end_)) return false;
  index_end_ += kSegmentRowBytes;
  return true;
}

bool SegmentWriter::files_exist() const {
  struct ::stat index, data;
  return ::fstat(index_.get(), &index) == 0 && ::fstat(data_.get(), &data) == 0 && index.st_nlink > 0 &&
         data.st_nlink > 0;
}

}  // namespace forebay
