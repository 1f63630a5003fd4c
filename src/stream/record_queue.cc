#include "stream/record_queue.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "stream/record_bytes.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

// The disk space of a segment is freed when all of it has been read. Small segments are freed soon;
// large ones need few descriptors.
constexpr uint64_t kSegmentBytes = uint64_t{16} << 20;
constexpr size_t kReadBytes = size_t{1} << 20;

// `error`: the errno of the call that failed.
Status not_spilled(const std::string& folder, int error) {
  return unavailable(fmt::format(
      "records cannot be spilled to disk in {}: {}; give .buffer(\"spill\", dir=) another folder, or let it "
      "use less of this one with disk=",
      folder, std::strerror(error)));
}

}  // namespace

Result<std::shared_ptr<SpillSpace>> SpillSpace::open(std::string folder, uint64_t bytes, Write write,
                                                     const StreamClock& clock) {
  // Some file systems have no files without a name, and some folders are read-only. That is better
  // reported before training than during it.
  const int probe = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (probe < 0) return not_spilled(folder, errno);
  ::close(probe);
  auto space = std::make_shared<SpillSpace>();
  space->folder_ = std::move(folder);
  space->bytes_ = bytes;
  space->write_ = std::move(write);
  space->clock_ = &clock;
  return space;
}

void SpillSpace::found_full() {
  tries_at_ = clock_->now() + kBetweenTries;
  if (std::exchange(warned_full_, true)) return;
  log_warning(fmt::format(
      ".buffer(\"spill\"): the disk of {} is full; records wait in the log, as with \"block\", until it has room again",
      folder_));
}

SpillFile::~SpillFile() {
  for (const Segment& segment : segments_) {
    ::close(segment.file);
    space_->used_ -= segment.written;
  }
}

// The result of a write that failed with that errno. A full disk may have space again later.
Result<SpillFile::Pushed> SpillFile::failed_write(int error) {
  if (error != ENOSPC && error != EDQUOT) return not_spilled(space_->folder_, error);
  space_->found_full();
  return Pushed::kDiskFull;
}

Result<SpillFile::Pushed> SpillFile::begin_segment() {
  Segment segment;
  segment.file = ::open(space_->folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (segment.file < 0) return failed_write(errno);
  segments_.push_back(segment);
  return Pushed::kYes;
}

Result<SpillFile::Pushed> SpillFile::push(const LogRecord& record) {
  if (segments_.empty() || segments_.back().written >= kSegmentBytes) {
    FOREBAY_ASSIGN(const Pushed begun, begin_segment());
    if (begun == Pushed::kDiskFull) return begun;
  }
  // `written` is increased after the whole record: the next record overwrites what a full disk took
  // of this one.
  const Buffer bytes = record_bytes(record);
  Segment& segment = segments_.back();
  if (!space_->write_(segment.file, bytes.data(), bytes.size(), segment.written)) return failed_write(errno);
  segment.written += bytes.size();
  space_->used_ += bytes.size();
  ++records_;
  return Pushed::kYes;
}

// Reads until the next record is in `block_` as a whole.
Status SpillFile::load() {
  const auto have = [&] { return block_.size() - block_at_; };
  const auto next_size = [&]() -> uint64_t {
    return have() < kRecordHeadBytes ? kRecordHeadBytes : record_size(block_.data() + block_at_);
  };
  while (have() < next_size()) {
    Segment& segment = segments_.front();
    const uint64_t left = segment.written - segment.read;
    const uint64_t wanted = next_size() - have();
    // Records never cross segments, so the rest of a begun record is in this file.
    if (wanted > left)
      return Status(Code::kCorrupt,
                    fmt::format("the disk in {} lost records that were spilled to it", space_->folder_));
    Buffer block = Buffer::allocate(have() + std::min<uint64_t>(left, std::max<uint64_t>(kReadBytes, wanted)));
    if (have() > 0) std::memcpy(block.data(), block_.data() + block_at_, have());
    const uint64_t size = block.size() - have();
    if (!read_all(segment.file, block.data() + have(), size, segment.read))
      return unavailable(
          fmt::format("records cannot be read back from disk in {}: {}", space_->folder_, std::strerror(errno)));
    segment.read += size;
    block_ = std::move(block);
    block_at_ = 0;
  }
  return {};
}

Result<LogRecord> SpillFile::pop() {
  FOREBAY_RETURN_IF_ERROR(load());
  const uint64_t size = record_size(block_.data() + block_at_);
  Result<LogRecord> record = parse_record(block_.slice(block_at_, size), partition_);
  if (!record.ok())
    return Status(Code::kCorrupt,
                  fmt::format("the disk in {} gave back a record that was not spilled to it", space_->folder_));
  block_at_ += size;
  --records_;
  Segment& first = segments_.front();
  // This may be the segment that is written to: the next record then begins another.
  if (first.read == first.written && block_at_ == block_.size()) {
    ::close(first.file);
    space_->used_ -= first.written;
    segments_.pop_front();
    block_ = {};
    block_at_ = 0;
  }
  return record;
}

RecordQueue::RecordQueue(std::shared_ptr<SpillSpace> space, size_t partition)
    : spilled_(space ? std::make_unique<SpillFile>(std::move(space), partition) : nullptr) {}

Status RecordQueue::push(LogRecord record, uint64_t number, bool spill) {
  const bool is_behind_others = spilled() > 0 || unspilled() > 0;
  if (!spilled_ || (!spill && !is_behind_others)) {
    bytes_ += record.bytes();
    memory_.emplace_back(std::move(record), number);
    return {};
  }
  // A record must not overtake others, so the disk is not tried while unspilled records wait for
  // it.
  if (unspilled() == 0) {
    FOREBAY_ASSIGN(const SpillFile::Pushed pushed, spilled_->push(record));
    if (pushed == SpillFile::Pushed::kYes) return {};
  }
  bytes_ += record.bytes();
  unspilled_.push_back(std::move(record));
  return {};
}

Result<LogRecord> RecordQueue::pop() {
  if (memory_.empty() && spilled() > 0) return spilled_->pop();
  LogRecord record;
  if (memory_.empty()) {
    record = std::move(unspilled_.front());
    unspilled_.pop_front();
  } else {
    record = std::move(memory_.front().first);
    memory_.pop_front();
  }
  bytes_ -= record.bytes();
  return record;
}

Status RecordQueue::spill_remaining() {
  while (unspilled() > 0) {
    FOREBAY_ASSIGN(const SpillFile::Pushed pushed, spilled_->push(unspilled_.front()));
    if (pushed == SpillFile::Pushed::kDiskFull) break;
    bytes_ -= unspilled_.front().bytes();
    unspilled_.pop_front();
  }
  return {};
}

}  // namespace forebay
