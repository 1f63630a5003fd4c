#pragma once

#include "base/table_codec.h"

namespace forebay {

/// Arrow IPC files ("Feather 2"). Their index is the footer, the head of each batch, and the dictionaries.
/// Without state: any thread may use one. Streams, which have no index, are Corrupt.
class IpcCodec final : public TableCodec {
 public:
  Result<uint64_t> index_bytes(std::span<const uint8_t> tail, uint64_t file_size) const override;
  Result<std::vector<ByteRange>> index_ranges(std::span<const uint8_t> tail, uint64_t file_size) const override;
  Result<std::shared_ptr<const TableFile>> open(Buffer tail, uint64_t file_size, const NullPolicy& nulls,
                                                std::span<const TableFile::Piece> more) const override;
};

}  // namespace forebay
