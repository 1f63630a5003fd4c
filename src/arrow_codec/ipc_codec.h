#pragma once

#include "base/table_codec.h"

namespace forebay {

/// Codec of Arrow IPC files ("Feather 2") and IPC streams, such as Hugging Face's caches. The index
/// of a file consists of its footer, the head of each batch, and the dictionaries. The index of a
/// stream is found by following the heads, one read each. Stateless; any thread may use it.
class IpcCodec final : public TableCodec {
 public:
  Result<uint64_t> index_tail_bytes(std::span<const uint8_t> tail, uint64_t file_size) const override;
  Result<std::vector<ByteRange>> index_ranges(std::span<const uint8_t> tail, uint64_t file_size,
                                              std::span<const TableFile::Piece> have) const override;
  Result<std::shared_ptr<const TableFile>> open(Buffer tail, uint64_t file_size, const TableReading& reading,
                                                std::span<const TableFile::Piece> more) const override;
};

}  // namespace forebay
