#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <stop_token>
#include <string>
#include <utility>

#include "forebay/buffer.h"
#include "format/hdf5/cursor.h"
#include "store/store.h"

namespace forebay {

/// Random access to the bytes of a file while its metadata is read. Calls may wait. One thread.
class Hdf5Bytes {
 public:
  virtual ~Hdf5Bytes() = default;
  /// Reads a range of the file. Corrupt if the file ends before the end of the range. Allocates no
  /// more memory than the file has bytes in the range.
  virtual Result<Buffer> read(uint64_t offset, uint64_t length) = 0;
  virtual uint64_t size() const = 0;
};

/// Reads a file that is in memory.
class Hdf5BytesInMemory final : public Hdf5Bytes {
 public:
  explicit Hdf5BytesInMemory(Buffer bytes) : bytes_(std::move(bytes)) {}
  Result<Buffer> read(uint64_t offset, uint64_t length) override;
  uint64_t size() const override { return bytes_.size(); }

 private:
  Buffer bytes_;
};

/// Reads an object of a store in blocks, so that neighbouring metadata costs one request. The most
/// recently used blocks are cached.
class Hdf5BytesInStore final : public Hdf5Bytes {
 public:
  Hdf5BytesInStore(Store& store, std::string key, uint64_t size, std::stop_token stop);
  Result<Buffer> read(uint64_t offset, uint64_t length) override;
  uint64_t size() const override { return size_; }

 private:
  Result<Buffer> block(uint64_t number);
  Result<Buffer> ask(uint64_t offset, uint64_t length);

  Store& store_;
  const std::string key_;
  const uint64_t size_, block_bytes_;
  const std::stop_token stop_;
  std::map<uint64_t, Buffer> blocks_;
  std::list<uint64_t> used_;  ///< most recently used first
};

/// A file whose superblock has been read: the base and the size of its addresses. Every address is
/// checked against the file before it is read. All reads count against a limit, so a circular file
/// cannot trap a reader.
class Hdf5Metadata {
 public:
  /// Corrupt if it is not an HDF5 file, is damaged or cut off; Unsupported for a superblock of a
  /// newer version.
  static Result<Hdf5Metadata> open(Hdf5Bytes& bytes);

  /// Reads bytes at an address. Corrupt if the file does not have them, or the limit is reached.
  Result<Buffer> read(uint64_t address, uint64_t length);
  /// Reads a block that ends in its checksum, and checks it. `what` names it in messages.
  Result<Buffer> read_checked(uint64_t address, uint64_t length, const char* what);
  Hdf5Cursor cursor(const Buffer& bytes) const { return Hdf5Cursor(bytes.span(), sizes_); }

  Hdf5Sizes sizes() const { return sizes_; }
  uint64_t root() const { return root_; }  ///< address of the root group's header
  /// True if the file has `length` bytes at the address.
  bool holds(uint64_t address, uint64_t length) const;
  uint64_t size() const { return bytes_->size(); }
  /// File offset of an address for which holds() is true.
  uint64_t offset(uint64_t address) const { return base_ + address; }

 private:
  explicit Hdf5Metadata(Hdf5Bytes& bytes) : bytes_(&bytes) {}
  Status read_superblock(uint64_t at);
  Status read_old_superblock(Hdf5Cursor& in, uint8_t version);
  Status read_new_superblock(Hdf5Cursor& in);
  Status check_end(uint64_t end) const;

  Hdf5Bytes* bytes_;
  Hdf5Sizes sizes_;
  uint64_t base_ = 0;               ///< offset in the file of address 0
  uint64_t root_ = kHdf5NoAddress;  ///< root()
  uint64_t read_ = 0, reads_ = 0;   ///< bytes and number of all reads
};

}  // namespace forebay
