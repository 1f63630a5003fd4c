#include "stream/replay_disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/read_all.h"

namespace forebay {

namespace {

constexpr uint64_t kLeastRoom = 256;

}  // namespace

ReplayDisk::ReplayDisk(int file, std::string folder, uint64_t most_bytes)
    : file_(file), folder_(std::move(folder)), max_bytes_(most_bytes) {}

ReplayDisk::~ReplayDisk() { ::close(file_); }

Result<std::unique_ptr<ReplayDisk>> ReplayDisk::open(const std::string& folder, uint64_t most_bytes) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0)
    return unavailable(fmt::format("records cannot be kept on disk in {}: {}", folder, std::strerror(errno)));
  return std::unique_ptr<ReplayDisk>(new ReplayDisk(file, folder, most_bytes));
}

// Rounds up to four sizes per doubling. A hole fits any piece that is up to a quarter smaller, so
// that holes are filled and do not become many.
uint64_t ReplayDisk::room_for(uint64_t size) {
  if (size <= kLeastRoom) return kLeastRoom;
  const uint64_t step = std::bit_floor(size - 1) / 4;
  return (size + step - 1) / step * step;
}

std::optional<uint64_t> ReplayDisk::take(uint64_t room) {
  const Lock lock(mutex_);
  const auto hole = holes_.find(room);
  if (hole != holes_.end() && !hole->second.empty()) {
    const uint64_t at = hole->second.back();
    hole->second.pop_back();
    return at;
  }
  if (room > max_bytes_ || end_ > max_bytes_ - room) return std::nullopt;
  return std::exchange(end_, end_ + room);
}

std::optional<ReplayDisk::Slot> ReplayDisk::write(const Buffer& piece) {
  const std::optional<uint64_t> at = take(room_for(piece.size()));
  if (!at) return std::nullopt;
  const Slot slot{*at, piece.size()};
  if (write_all(file_, piece.data(), slot.size, slot.at)) return slot;
  free(slot);
  return std::nullopt;
}

Result<Buffer> ReplayDisk::read(const Slot& slot) const {
  Buffer piece = Buffer::allocate(slot.size);
  errno = 0;  // a file that ends too early sets none
  if (!read_all(file_, piece.data(), slot.size, slot.at))
    return unavailable(fmt::format("the disk in {} does not give back what was kept there: {}", folder_,
                                   errno != 0 ? std::strerror(errno) : "it ends before"));
  return piece;
}

void ReplayDisk::free(const Slot& slot) {
  const Lock lock(mutex_);
  holes_[room_for(slot.size)].push_back(slot.at);
}

uint64_t ReplayDisk::used() const {
  const Lock lock(mutex_);
  return end_;
}

}  // namespace forebay
