#include "stream/record_queue.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/hash.h"

namespace forebay {

namespace {

constexpr off_t kSegmentBytes = off_t{16} << 20;
constexpr size_t kReadBytes = size_t{1} << 20;

struct SpilledHeader {
  uint64_t hash;  // of what follows, up to the record's end
  uint32_t offset_bytes, key_bytes;
  uint64_t payload_bytes;
  uint64_t size() const { return sizeof(SpilledHeader) + offset_bytes + key_bytes + payload_bytes; }
};

uint64_t hash_of(const uint8_t* record, uint64_t size) {
  constexpr size_t kBehind = sizeof(uint64_t);
  return hash128(std::string_view(reinterpret_cast<const char*>(record) + kBehind, size - kBehind)).low;
}

Status system_error(const char* what, const std::string& folder) {
  return unavailable(fmt::format("records cannot be {} disk in {}: {}", what, folder, std::strerror(errno)));
}

}  // namespace

Result<std::shared_ptr<SpillSpace>> SpillSpace::open(std::string folder, uint64_t bytes) {
  const int probe = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (probe < 0) return system_error("spilled to", folder);
  ::close(probe);
  auto space = std::make_shared<SpillSpace>();
  space->folder_ = std::move(folder);
  space->bytes_ = bytes;
  return space;
}

SpillFile::~SpillFile() {
  for (const Segment& segment : segments_) {
    ::close(segment.file);
    space_->used_ -= static_cast<uint64_t>(segment.written);
  }
}

Status SpillFile::begin_segment() {
  Segment segment;
  segment.file = ::open(space_->folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (segment.file < 0) return system_error("spilled to", space_->folder_);
  segments_.push_back(segment);
  return {};
}

Status SpillFile::push(const LogRecord& record) {
  if (segments_.empty() || segments_.back().written >= kSegmentBytes) FOREBAY_RETURN_IF_ERROR(begin_segment());
  SpilledHeader header{0, static_cast<uint32_t>(record.offset.size()), static_cast<uint32_t>(record.key.size()),
                       record.payload.size()};
  Buffer bytes = Buffer::allocate(header.size());
  uint8_t* at = bytes.data();
  const auto put = [&](const void* data, size_t size) {
    if (size > 0) std::memcpy(at, data, size);
    at += size;
  };
  put(&header, sizeof(header));
  put(record.offset.data(), record.offset.size());
  put(record.key.data(), record.key.size());
  put(record.payload.data(), record.payload.size());
  header.hash = hash_of(bytes.data(), bytes.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  Segment& segment = segments_.back();
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n =
        pwrite(segment.file, bytes.data() + done, bytes.size() - done, segment.written + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return system_error("spilled to", space_->folder_);
    done += static_cast<size_t>(n);
  }
  segment.written += static_cast<off_t>(bytes.size());
  space_->used_ += bytes.size();
  ++records_;
  return {};
}

// So that the next record is in `block_` as a whole.
Status SpillFile::load() {
  const auto have = [&] { return block_.size() - block_at_; };
  const auto next_size = [&]() -> uint64_t {
    if (have() < sizeof(SpilledHeader)) return sizeof(SpilledHeader);
    SpilledHeader header;
    std::memcpy(&header, block_.data() + block_at_, sizeof(header));
    return header.size();
  };
  while (have() < next_size()) {
    Segment& segment = segments_.front();
    const auto left = static_cast<uint64_t>(segment.written - segment.read);
    const uint64_t wanted = next_size() - have();
    if (wanted > left)
      return Status(Code::kCorrupt,
                    fmt::format("the disk in {} lost records that were spilled to it", space_->folder_));
    Buffer block = Buffer::allocate(have() + std::min<uint64_t>(left, std::max<uint64_t>(kReadBytes, wanted)));
    if (have() > 0) std::memcpy(block.data(), block_.data() + block_at_, have());
    size_t filled = have();
    while (filled < block.size()) {
      const ssize_t n = pread(segment.file, block.data() + filled, block.size() - filled, segment.read);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return system_error("read back from", space_->folder_);
      filled += static_cast<size_t>(n);
      segment.read += n;
    }
    block_ = std::move(block);
    block_at_ = 0;
  }
  return {};
}

Result<LogRecord> SpillFile::pop() {
  FOREBAY_RETURN_IF_ERROR(load());
  SpilledHeader header;
  const uint8_t* const begin = block_.data() + block_at_;
  std::memcpy(&header, begin, sizeof(header));
  if (hash_of(begin, header.size()) != header.hash)
    return Status(Code::kCorrupt,
                  fmt::format("the disk in {} gave back a record that was not spilled to it", space_->folder_));
  LogRecord record;
  record.partition = partition_;
  const char* text = reinterpret_cast<const char*>(begin) + sizeof(header);
  record.offset.assign(text, header.offset_bytes);
  record.key.assign(text + header.offset_bytes, header.key_bytes);
  record.payload = block_.slice(block_at_ + header.size() - header.payload_bytes, header.payload_bytes);
  block_at_ += header.size();
  --records_;
  Segment& first = segments_.front();
  if (first.read == first.written && block_at_ == block_.size()) {
    ::close(first.file);
    space_->used_ -= static_cast<uint64_t>(first.written);
    segments_.pop_front();
    block_ = {};
    block_at_ = 0;
  }
  return record;
}

RecordQueue::RecordQueue(std::shared_ptr<SpillSpace> space, size_t partition)
    : spilled_(space ? std::make_unique<SpillFile>(std::move(space), partition) : nullptr) {}

Status RecordQueue::push(LogRecord record, uint64_t number, bool spill) {
  if (spilled_ && (spill || spilled_->size() > 0)) return spilled_->push(record);
  bytes_ += record.bytes();
  memory_.emplace_back(std::move(record), number);
  return {};
}

Result<LogRecord> RecordQueue::pop() {
  if (memory_.empty()) return spilled_->pop();
  LogRecord record = std::move(memory_.front().first);
  memory_.pop_front();
  bytes_ -= record.bytes();
  return record;
}

}  // namespace forebay
