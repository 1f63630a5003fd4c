#pragma once

#include "base/table_codec.h"

namespace forebay {

/// Arrow IPC files ("Feather 2") and IPC streams, as Hugging Face's caches are. The index of a file is its footer, the head of each
/// batch, and the dictionaries; that of a stream is found by going from head to head, a read each.
/// Without state: any thread may use one.
class IpcCodec final : public TableCodec {
 public:
  Result<uint64_t> index_bytes(std::span<const uint8_t> tail, uint64_t file_size) const override;
  Result<std::vector<ByteRange>> index_ranges(std::span<const uint8_t> tail, uint64_t file_size,
                                              std::span<const TableFile::Piece> have) const override;
  Result<std::shared_ptr<const TableFile>> open(Buffer tail, uint64_t file_size, const TableReading& reading,
                                                std::span<const TableFile::Piece> more) const override;
};

}  // namespace forebay
