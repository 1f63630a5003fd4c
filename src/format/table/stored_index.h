#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/table_codec.h"

namespace forebay {

/// The compressed bytes of a file's index, at most a twentieth of the size of the opened index.
class StoredIndex {
 public:
  StoredIndex(const Buffer& tail, std::span<const TableFile::Piece> more, uint64_t file_size);

  Result<std::shared_ptr<const TableFile>> open(const TableCodec& codec, const TableReading& reading) const;
  uint64_t bytes() const { return packed_.capacity() + ranges_.capacity() * sizeof(ByteRange); }

 private:
  std::string packed_;
  uint64_t tail_bytes_, all_bytes_, file_size_;
  /// Ranges of the pieces in the file; their bytes follow the tail.
  std::vector<ByteRange> ranges_;
};

}  // namespace forebay
