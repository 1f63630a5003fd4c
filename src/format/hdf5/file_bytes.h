#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <stop_token>
#include <string>

#include "forebay/buffer.h"
#include "format/hdf5/cursor.h"
#include "store/store.h"

namespace forebay {

/// The bytes of a file while its metadata are read, piece by piece as they lead from one to the next. One thread; waits.
class Hdf5Bytes {
 public:
  virtual ~Hdf5Bytes() = default;
  /// Offsets of the file; Corrupt where it ends before. Takes no more memory than the file has bytes there.
  virtual Result<Buffer> read(uint64_t offset, uint64_t length) = 0;
  virtual uint64_t size() const = 0;
};

class Hdf5BytesInMemory final : public Hdf5Bytes {
 public:
  explicit Hdf5BytesInMemory(Buffer bytes) : bytes_(std::move(bytes)) {}
  Result<Buffer> read(uint64_t offset, uint64_t length) override;
  uint64_t size() const override { return bytes_.size(); }

 private:
  Buffer bytes_;
};

/// Of an object in a store: in blocks, so that what lies together costs one request, of which the last ones used are kept.
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
  std::list<uint64_t> used_;  ///< the last one first
};

/// A file whose first block has been read: where addresses count from and how long they are. Every address is checked against the file
/// before anything is read there, and all that is read counts against a limit, so that no file can lead a reader in circles.
class Hdf5Metadata {
 public:
  /// Corrupt where it is no HDF5 file.
  static Result<Hdf5Metadata> open(Hdf5Bytes& bytes);

  Result<Buffer> read(uint64_t address, uint64_t length);
  /// The same, of a block that ends in its checksum.
  Result<Buffer> read_checked(uint64_t address, uint64_t length, const char* what);
  Hdf5Cursor cursor(const Buffer& bytes) const { return Hdf5Cursor(bytes.span(), sizes_); }

  Hdf5Sizes sizes() const { return sizes_; }
  uint64_t root() const { return root_; }  ///< address of the root group's header
  /// Whether so many bytes of the file lie at the address.
  bool holds(uint64_t address, uint64_t length) const;
  uint64_t size() const { return bytes_->size(); }
  /// Offset in the file of an address that it holds.
  uint64_t offset(uint64_t address) const { return base_ + address; }

 private:
  explicit Hdf5Metadata(Hdf5Bytes& bytes) : bytes_(&bytes) {}
  Status take_superblock(uint64_t at);
  Status take_old(Hdf5Cursor& in, uint8_t version);
  Status take_new(Hdf5Cursor& in);
  Status check_end(uint64_t end) const;

  Hdf5Bytes* bytes_;
  Hdf5Sizes sizes_;
  uint64_t base_ = 0, root_ = kHdf5Nowhere, read_ = 0, reads_ = 0;
};

}  // namespace forebay
