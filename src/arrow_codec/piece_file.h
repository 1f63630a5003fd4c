#pragma once

#include <memory>
#include <span>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include "arrow_codec/arrow_releases.h"
#include "base/table_codec.h"
#include "forebay/buffer.h"

namespace forebay {

/// An Arrow buffer that refers to `bytes` and keeps their memory alive.
std::shared_ptr<arrow::Buffer> arrow_view(const Buffer& bytes);
/// A Buffer that refers to Arrow's memory and keeps it alive.
Buffer forebay_view(std::shared_ptr<arrow::Buffer> bytes);

/// A file of which only some pieces are in memory. A read inside one piece returns a view of it; a
/// read across adjacent pieces joins them; any other read is an IOError that names the first
/// missing byte. It has no position, so only ReadAt() works.
///
/// Joining takes memory from the pool, within the thread's Allowance. A read costs a binary search
/// of the pieces. Views may outlive the file. One thread.
class PieceFile final : public ReadHereFile {
 public:
  PieceFile(std::span<const TableFile::Piece> pieces, uint64_t file_size);

  arrow::Result<int64_t> GetSize() override { return static_cast<int64_t>(file_size_); }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t nbytes) override;
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t nbytes, void* out) override;
  using arrow::io::RandomAccessFile::ReadAt;
  bool supports_zero_copy() const override { return true; }

  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }
  arrow::Result<int64_t> Tell() const override { return no_position(); }
  arrow::Status Seek(int64_t) override { return no_position(); }
  arrow::Result<int64_t> Read(int64_t, void*) override { return no_position(); }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t) override { return no_position(); }

 private:
  static arrow::Status no_position();
  /// Number of bytes that a read returns: fewer than requested at the end of the file. An error for
  /// negative arguments.
  arrow::Result<uint64_t> readable_bytes(int64_t position, int64_t nbytes) const;
  /// The bytes from `position` to the end of the piece that contains it.
  arrow::Result<Buffer> find(uint64_t position) const;

  std::vector<TableFile::Piece> pieces_;  ///< sorted by offset
  uint64_t file_size_;
};

}  // namespace forebay
