#include "stream/files/growing_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "format/lines/line_blocks.h"

namespace forebay {

namespace {

constexpr uint64_t kLeastBlock = 64 << 10;

Status lost_file(const std::string& path, const std::string& what) {
  return not_found(what + "; give every file of lines a name of its own, and only ever append to it").with_key(path);
}

/// Reads up to `length` bytes, fewer at the end of the file.
Result<Buffer> read_fully(int fd, const std::string& path, uint64_t begin, uint64_t length) {
  Buffer block = Buffer::allocate(length);
  uint64_t done = 0;
  while (done < length) {
    const ssize_t got = ::pread(fd, block.data() + done, length - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return status_of_errno(errno).with_key(path);
    if (got == 0) break;
    done += static_cast<uint64_t>(got);
  }
  return block.slice(0, done);
}

}  // namespace

Status GrowingFile::open() {
  uint64_t size = 0;
  auto file = open_regular(path_, &size);
  if (!file.ok()) return file.status().with_key(path_);
  file_ = std::move(file).value();
  // Lines are only appended, so a file that is shorter than the part that was read is another file.
  if (size < position_)
    return lost_file(path_, fmt::format("has {} bytes, and {} of it were read before: it was cut, or is another file",
                                        size, position_));
  if (position_ == 0) return {};
  // A position from a state is after the end of a line. Otherwise it belongs to another file.
  FOREBAY_ASSIGN(const Buffer before, read_range(position_ - 1, 1));
  if (before.size() == 1 && before.data()[0] == '\n') return {};
  return corrupt(
             fmt::format(
                 "no line ends at byte {}, where reading is to go on: it is another file than the one that was read",
                 position_))
      .with_key(path_);
}

Status GrowingFile::check_in_place() const {
  // Compares the open file with the file that has the name now: rotation of logs puts another file
  // under the name.
  struct ::stat here, named;
  if (::fstat(file_.get(), &here) != 0) return status_of_errno(errno).with_key(path_);
  if (::stat(path_.c_str(), &named) != 0)
    return errno == ENOENT ? lost_file(path_, "is gone; all of its lines were read")
                           : status_of_errno(errno).with_key(path_);
  if (here.st_ino == named.st_ino && here.st_dev == named.st_dev) return {};
  return lost_file(path_, "was replaced by another file; all lines of the old one were read");
}

Result<uint64_t> GrowingFile::size() {
  if (!file_.valid()) FOREBAY_RETURN_IF_ERROR(open());
  struct ::stat info;
  if (::fstat(file_.get(), &info) != 0) return status_of_errno(errno).with_key(path_);
  const auto size = static_cast<uint64_t>(info.st_size);
  // Compared with `searched_`, not with `position_`: the part that was searched for a line's end
  // was read, too.
  if (size < searched_)
    return lost_file(path_, fmt::format("was cut to {} bytes, when {} of it had been read", size, searched_));
  return size;
}

Result<Buffer> GrowingFile::read_range(uint64_t begin, uint64_t length) const {
  return read_fully(file_.get(), path_, begin, length);
}

Result<uint64_t> GrowingFile::find_end(uint64_t size) {
  while (searched_ < size) {
    FOREBAY_ASSIGN(const Buffer block, read_range(searched_, std::min(size - searched_, uint64_t{1} << 20)));
    if (block.empty()) break;
    if (const void* const end = std::memchr(block.data(), '\n', block.size()))
      return searched_ + static_cast<uint64_t>(static_cast<const uint8_t*>(end) - block.data()) + 1;
    searched_ += block.size();
    if (searched_ - position_ > kMaxLine)
      return corrupt(fmt::format("no line ends within {} MiB behind byte {}: it is no file of lines", kMaxLine >> 20,
                                 position_))
          .with_key(path_);
  }
  return uint64_t{0};
}

bool GrowingFile::take_lines(const Buffer& block, size_t records, std::vector<LogRecord>& out) {
  const uint64_t base = position_;
  size_t at = 0;
  while (records > 0 && at < block.size()) {
    const auto* const begin = block.data() + at;
    const auto* const end = static_cast<const uint8_t*>(std::memchr(begin, '\n', block.size() - at));
    if (end == nullptr) break;
    auto length = static_cast<size_t>(end - begin);
    const size_t next = at + length + 1;
    // Windows line endings: '\r' is not part of the line, but positions count it.
    if (length > 0 && begin[length - 1] == '\r') --length;
    if (blank_ || !is_blank({begin, length})) {
      out.push_back({partition_, fmt::format("{}", base + next), fmt::format("{}:{}", path_, base + at),
                     block.slice(at, length)});
      line_bytes_ = (line_bytes_ * 15 + length + 1) / 16 + 1;
      --records;
    }
    at = next;
  }
  // The position after the last complete line of the block, blank lines included.
  position_ = base + at;
  return at > 0;
}

Status GrowingFile::read(size_t records, uint64_t bytes, std::vector<LogRecord>& out) {
  const size_t before = out.size();
  while (out.size() == before) {
    FOREBAY_ASSIGN(const uint64_t end, size());
    // Checked only if there is nothing new: a file that was replaced is first read to its end.
    if (end == searched_) return check_in_place();
    uint64_t needed = 0;
    // A line has begun. Its end is searched for first, without storing the bytes before it.
    if (searched_ > position_) {
      FOREBAY_ASSIGN(needed, find_end(end));
      if (needed == 0) return check_in_place();
      needed -= position_;
    }
    const uint64_t wanted = std::max(std::min<uint64_t>(bytes, records * line_bytes_ * 5 / 4), kLeastBlock);
    FOREBAY_ASSIGN(const Buffer block, read_range(position_, std::max(needed, std::min(wanted, end - position_))));
    const bool taken = take_lines(block, records, out);
    searched_ = taken ? position_ : position_ + block.size();
  }
  return {};
}

Result<uint64_t> GrowingFile::end_of_lines(const std::string& path) {
  uint64_t end = 0;
  auto file = open_regular(path, &end);
  if (!file.ok()) return file.status().with_key(path);
  while (end > 0) {
    const uint64_t begin = end > kLeastBlock ? end - kLeastBlock : 0;
    FOREBAY_ASSIGN(const Buffer block, read_fully(file->get(), path, begin, end - begin));
    for (size_t i = block.size(); i > 0; --i) {
      // Searched backwards: after the last line end there is a line that is still being written.
      if (block.data()[i - 1] == '\n') return begin + i;
    }
    end = begin;
  }
  return uint64_t{0};
}

}  // namespace forebay
