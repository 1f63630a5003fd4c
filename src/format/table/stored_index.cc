#include "format/table/stored_index.h"

#include <zstd.h>

#include <utility>

namespace forebay {

StoredIndex::StoredIndex(const Buffer& tail, std::span<const TableFile::Piece> more, uint64_t file_size)
    : tail_bytes_(tail.size()), file_size_(file_size) {
  std::string all(reinterpret_cast<const char*>(tail.data()), tail.size());
  for (const TableFile::Piece& piece : more) {
    ranges_.push_back({piece.offset, piece.bytes.size()});
    all.append(reinterpret_cast<const char*>(piece.bytes.data()), piece.bytes.size());
  }
  all_bytes_ = all.size();
  // The fast level: footers shrink to a fraction at any level, and each is unpacked many times.
  packed_.resize(ZSTD_compressBound(all.size()));
  const size_t size = ZSTD_compress(packed_.data(), packed_.size(), all.data(), all.size(), 1);
  // A constructor cannot return an error. open() fails instead, because the empty data does not
  // unpack.
  packed_ = ZSTD_isError(size) ? std::string() : packed_.substr(0, size);
  packed_.shrink_to_fit();
}

Result<std::shared_ptr<const TableFile>> StoredIndex::open(const TableCodec& codec, const TableReading& reading) const {
  Buffer all = Buffer::allocate(all_bytes_);
  const size_t size = ZSTD_decompress(all.data(), all.size(), packed_.data(), packed_.size());
  if (ZSTD_isError(size) || size != all_bytes_)
    return internal_error("the stored index of a table cannot be decompressed");
  std::vector<TableFile::Piece> more;
  uint64_t begin = tail_bytes_;
  for (const ByteRange& range : ranges_) {
    more.push_back({range.offset, all.slice(begin, range.length)});
    begin += range.length;
  }
  return codec.open(all.slice(0, tail_bytes_), file_size_, reading, more);
}

}  // namespace forebay
