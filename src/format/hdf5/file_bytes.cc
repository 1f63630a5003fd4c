#include "format/hdf5/file_bytes.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/sniff.h"

namespace forebay {

namespace {

constexpr uint64_t kLocalBlock = 64 << 10, kRemoteBlock = 1 << 20;
constexpr size_t kBlocksKept = 64;
// An index of ten million chunks takes half a gigabyte. A file that requires more metadata is
// circular.
constexpr uint64_t kMaxMetadata = uint64_t{2} << 30, kLeastLimit = uint64_t{64} << 20, kReadAgain = 64;
constexpr uint64_t kMaxReads = 20'000'000;
constexpr uint64_t kSuperblockBytes = 96;
constexpr std::string_view kHdf5Magic = "\x89HDF\r\n\x1a\n";

Status ends_before(uint64_t offset, uint64_t length, uint64_t size) {
  return corrupt(
      fmt::format("the file has {} bytes and should have {} at {}; it was cut off or damaged", size, length, offset));
}

bool starts_with_magic(const Buffer& bytes) {
  return bytes.size() >= kHdf5Magic.size() && std::memcmp(bytes.data(), kHdf5Magic.data(), kHdf5Magic.size()) == 0;
}

bool usual_size(uint8_t bytes) { return bytes == 2 || bytes == 4 || bytes == 8; }

}  // namespace

Result<Buffer> Hdf5BytesInMemory::read(uint64_t offset, uint64_t length) {
  if (offset > size() || length > size() - offset) return ends_before(offset, length, size());
  return bytes_.slice(offset, length);
}

Hdf5BytesInStore::Hdf5BytesInStore(Store& store, std::string key, uint64_t size, std::stop_token stop)
    : store_(store), key_(std::move(key)), size_(size), block_bytes_(store.remote() ? kRemoteBlock : kLocalBlock),
      stop_(std::move(stop)) {}

Result<Buffer> Hdf5BytesInStore::ask(uint64_t offset, uint64_t length) {
  const ReadRequest request{key_, ByteRange{offset, length}, size_, {}};
  if (store_.reads_now()) {
    if (std::optional<Result<Buffer>> now = store_.read_now(request)) return std::move(*now);
  }
  return read_wait(store_, request, stop_);
}

Result<Buffer> Hdf5BytesInStore::block(uint64_t number) {
  // The list has at most 65 entries, so searching it costs little compared with the read that it
  // may save.
  used_.remove(number);
  used_.push_front(number);
  if (const auto found = blocks_.find(number); found != blocks_.end()) return found->second;
  const uint64_t offset = number * block_bytes_;
  FOREBAY_ASSIGN(Buffer bytes, ask(offset, std::min(block_bytes_, size_ - offset)));
  if (used_.size() > kBlocksKept) {
    blocks_.erase(used_.back());
    used_.pop_back();
  }
  return blocks_[number] = std::move(bytes);
}

Result<Buffer> Hdf5BytesInStore::read(uint64_t offset, uint64_t length) {
  if (offset > size_ || length > size_ - offset) return ends_before(offset, length, size_);
  if (length == 0) return Buffer();
  if (length > block_bytes_) return ask(offset, length);
  const uint64_t first = offset / block_bytes_, last = (offset + length - 1) / block_bytes_;
  FOREBAY_ASSIGN(const Buffer head, block(first));
  const uint64_t skip = offset - first * block_bytes_;
  if (first == last) return head.slice(skip, length);
  FOREBAY_ASSIGN(const Buffer tail, block(last));
  Buffer joined = Buffer::allocate(length);
  std::memcpy(joined.data(), head.data() + skip, block_bytes_ - skip);
  std::memcpy(joined.data() + (block_bytes_ - skip), tail.data(), length - (block_bytes_ - skip));
  return joined;
}

bool Hdf5Metadata::holds(uint64_t address, uint64_t length) const {
  const uint64_t size = bytes_->size();
  return address != kHdf5NoAddress && base_ <= size && address <= size - base_ && length <= size - base_ - address;
}

Result<Buffer> Hdf5Metadata::read(uint64_t address, uint64_t length) {
  if (!holds(address, length)) {
    return corrupt(
        fmt::format("the file's metadata lead to {} bytes at {}, which it does not have: it was cut off or damaged",
                    length, address));
  }
  // Counted before the read, and also for cached blocks, so that a circular file always ends.
  read_ += length;
  // The limit grows with the size of the file, so a small hostile one ends soon, and a large one
  // may be read 64 times.
  const uint64_t limit = std::min(kMaxMetadata, kLeastLimit + std::min(size(), kMaxMetadata) * kReadAgain);
  if (read_ > limit || ++reads_ > kMaxReads)
    return hdf5_damaged("they lead in circles, or are many times as long as the file");
  return bytes_->read(base_ + address, length);
}

Result<Buffer> Hdf5Metadata::read_checked(uint64_t address, uint64_t length, const char* what) {
  FOREBAY_ASSIGN(Buffer bytes, read(address, length));
  if (!hdf5_checksum_holds(bytes.span())) return hdf5_damaged(fmt::format("the checksum of {} is wrong", what));
  return bytes;
}

// Other data before the HDF5 file takes 512 bytes or a power-of-two multiple of them.
Result<Hdf5Metadata> Hdf5Metadata::open(Hdf5Bytes& bytes) {
  for (uint64_t at = 0; at < bytes.size(); at = at == 0 ? 512 : at * 2) {
    const uint64_t length = std::min(kSuperblockBytes, bytes.size() - at);
    Hdf5Metadata file(bytes);
    FOREBAY_ASSIGN(const Buffer head, bytes.read(at, length));
    // II.A: a user block may precede it.
    if (!starts_with_magic(head)) continue;
    FOREBAY_RETURN_IF_ERROR(file.read_superblock(at));
    return file;
  }
  if (bytes.size() <= kSniffBytes) {
    FOREBAY_ASSIGN(const Buffer whole, bytes.read(0, bytes.size()));
    FOREBAY_RETURN_IF_ERROR(check_no_pointer(whole.span(), bytes.size()));
  }
  return corrupt("the file does not begin as an HDF5 file does");
}

Status Hdf5Metadata::read_superblock(uint64_t at) {
  FOREBAY_ASSIGN(const Buffer head, bytes_->read(at, std::min(kSuperblockBytes, bytes_->size() - at)));
  Hdf5Cursor in(head.span());
  in.skip(kHdf5Magic.size());
  const uint8_t version = in.u8();
  if (version > 3)
    return unsupported(fmt::format("a superblock of version {}, which is newer than this reader", version));
  base_ = at;
  if (version < 2) return read_old_superblock(in, version);
  FOREBAY_RETURN_IF_ERROR(read_new_superblock(in));
  const uint64_t bytes = 12 + 4 * uint64_t{sizes_.address} + 4;
  if (bytes > head.size() || !hdf5_checksum_holds(head.span().first(bytes)))
    return hdf5_damaged("the checksum of the superblock is wrong");
  return {};
}

Status Hdf5Metadata::read_old_superblock(Hdf5Cursor& in, uint8_t version) {
  in.skip(4);
  sizes_ = {in.u8(), in.u8()};
  if (in.failed() || !usual_size(sizes_.address) || !usual_size(sizes_.length))
    return hdf5_damaged("the superblock tells sizes that there are not");
  in.skip(1 + 2 + 2 + 4 + (version == 1 ? 4 : 0));
  // Base, free space, end and driver, then the root's entry: the place of its name, and its header.
  in.skip(2 * uint64_t{sizes_.address});
  FOREBAY_RETURN_IF_ERROR(check_end(in.number(sizes_.address)));
  in.skip(2 * uint64_t{sizes_.address});
  root_ = in.number(sizes_.address);
  return in.failed() ? hdf5_damaged("the superblock is cut off") : Status();
}

// If the file is truncated, the missing part may be values that would only be noticed when they are
// read.
Status Hdf5Metadata::check_end(uint64_t end) const {
  if (end <= bytes_->size()) return {};
  return corrupt(fmt::format("the file has {} bytes and should have {}; it was cut off, or not closed by its writer",
                             bytes_->size(), end));
}

Status Hdf5Metadata::read_new_superblock(Hdf5Cursor& in) {
  sizes_ = {in.u8(), in.u8()};
  in.skip(1);
  if (in.failed() || !usual_size(sizes_.address) || !usual_size(sizes_.length))
    return hdf5_damaged("the superblock tells sizes that there are not");
  in.skip(2 * uint64_t{sizes_.address});
  FOREBAY_RETURN_IF_ERROR(check_end(in.number(sizes_.address)));
  root_ = in.number(sizes_.address);
  return in.failed() ? hdf5_damaged("the superblock is cut off") : Status();
}

}  // namespace forebay
