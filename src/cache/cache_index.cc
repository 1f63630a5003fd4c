#include "cache/cache_index.h"

#include <fcntl.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "base/read_all.h"

namespace forebay {

namespace {
// 1 MiB of rows: few calls for an index, and memory that does not grow with it.
constexpr uint64_t kRowsInOneRead = 16384;
}  // namespace

std::optional<CacheIndex::Location> CacheIndex::find(const Hash128& id) const {
  const SharedLock lock(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() ? std::nullopt : std::optional(found->second);
}

void CacheIndex::refresh(const CacheFolder& folder) {
  const Lock lock(reading_);
  read_new_rows(folder);
}

void CacheIndex::try_refresh(const CacheFolder& folder) {
  if (!reading_.try_lock()) return;
  const Lock lock(reading_, std::adopt_lock);
  read_new_rows(folder);
}

void CacheIndex::read_new_rows(const CacheFolder& folder) {
  find_segments(folder);
  for (auto& [number, segment] : segments_) read_segment(folder, number, segment);
}

void CacheIndex::find_segments(const CacheFolder& folder) {
  struct ::stat info;
  if (::fstat(folder.fd(), &info) != 0) return;
  const int64_t changed = info.st_mtim.tv_sec * int64_t{1'000'000'000} + info.st_mtim.tv_nsec;
  if (changed == listed_mtime_ns_) return;
  bool complete = true;
  for (const std::string& name : folder.names()) {
    const std::optional<uint32_t> number = segment_number(name, kIndexEnding);
    if (!number || segments_.contains(*number)) continue;
    Result<FileDescriptor> file = folder.open_file(name, O_RDONLY);
    if (file.ok())
      segments_[*number].index = std::move(*file);
    else
      complete = false;
  }
  // Clocks of file systems are coarse: a folder that changed just now may change again within the
  // same tick.
  struct ::timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  const int64_t now_ns = now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
  if (complete && now_ns - changed > 20'000'000) listed_mtime_ns_ = changed;
}

void CacheIndex::read_segment(const CacheFolder& folder, uint32_t number, Segment& segment) {
  struct ::stat info;
  if (::fstat(segment.index.get(), &info) != 0) return;
  const uint64_t end = whole_rows(static_cast<uint64_t>(info.st_size));
  if (segment.read_bytes == 0) {
    SegmentHeader header;
    if (end < kSegmentRowBytes || !read_all(segment.index.get(), &header, sizeof header, 0) || !header.valid()) return;
    segment.read_bytes = kSegmentRowBytes;
  }
  // Read after the size of the index. A row follows its data, so the data of each row before `end`
  // lies within this size.
  if (segment.read_bytes >= end) return;
  const std::optional<struct ::stat> data = folder.stat(segment_file(number, kDataEnding));
  if (!data) return;
  std::vector<SegmentRow> rows(std::min((end - segment.read_bytes) / kSegmentRowBytes, kRowsInOneRead));
  while (segment.read_bytes < end) {
    const uint64_t bytes = std::min(end - segment.read_bytes, rows.size() * kSegmentRowBytes);
    if (!read_all(segment.index.get(), rows.data(), bytes, segment.read_bytes)) return;
    const std::span<const SegmentRow> read(rows.data(), bytes / kSegmentRowBytes);
    const uint64_t taken = take_rows(read, {.segment = number,
                                            .offset = segment.read_bytes,
                                            .data_bytes = static_cast<uint64_t>(data->st_size),
                                            .is_last = segment.read_bytes + bytes == end});
    segment.read_bytes += taken * kSegmentRowBytes;
    if (taken * kSegmentRowBytes < bytes) return;
  }
}

uint64_t CacheIndex::take_rows(std::span<const SegmentRow> rows, const IndexPart& part) {
  const ExclusiveLock lock(mutex_);
  for (size_t i = 0; i < rows.size(); ++i) {
    const SegmentRow& row = rows[i];
    if (!row.valid()) {
      if (part.is_last && i + 1 == rows.size() && !row.dead()) {
        count_memory();
        return i;
      }
      continue;
    }
    // Its data is missing (a crash, or another writer cut it off). The row is skipped for good,
    // because rows are read once. valid() excludes an overflow.
    if (row.offset + row.bytes > part.data_bytes) continue;
    const Location location{.segment = part.segment,
                            .row_offset = part.offset + i * kSegmentRowBytes,
                            .data_offset = row.offset,
                            .data_bytes = row.bytes,
                            .compute_seconds = row.seconds};
    // If two writers wrote the same entry, the first row read counts; the bytes of the other stay
    // unused.
    if (entries_.emplace(row.id, location).second) bytes_ += row.bytes;
  }
  count_memory();
  return rows.size();
}

void CacheIndex::remove(const CacheFolder& folder, const Hash128& id) {
  Location location;
  {
    const ExclusiveLock lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    location = found->second;
    bytes_ -= location.data_bytes;
    entries_.erase(found);
    count_memory();
  }
  const auto file = folder.open_file(segment_file(location.segment, kIndexEnding), O_RDWR);
  SegmentRow row;
  // Opened by name, because the descriptor for reading cannot write. Read again, because the cache
  // may have been removed and created anew.
  if (!file.ok() || !read_all(file->get(), &row, sizeof row, location.row_offset) || row.id != id) return;
  const SegmentRow dead{};
  // If this fails, the next process finds the damage, too.
  (void)write_all(file->get(), &dead, sizeof dead, location.row_offset);
}

uint64_t CacheIndex::entries() const {
  const SharedLock lock(mutex_);
  return entries_.size();
}

uint64_t CacheIndex::bytes() const {
  const SharedLock lock(mutex_);
  return bytes_;
}

void CacheIndex::count_memory() {
  memory_bytes_.store(entries_.size() * (sizeof(Hash128) + sizeof(Location) + 2 * sizeof(void*)) +
                          entries_.bucket_count() * sizeof(void*),
                      std::memory_order_relaxed);
}

}  // namespace forebay
