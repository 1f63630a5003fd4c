#pragma once

#include "base/table_codec.h"

namespace forebay {

/// Codec of Parquet files. The index of a file is its footer; an encrypted footer is Unsupported.
/// Stateless; any thread may use it.
class ParquetCodec final : public TableCodec {
 public:
  Result<uint64_t> index_tail_bytes(std::span<const uint8_t> tail, uint64_t file_size) const override;
  Result<std::shared_ptr<const TableFile>> open(Buffer tail, uint64_t file_size, const TableReading& reading,
                                                std::span<const TableFile::Piece> more) const override;
};

}  // namespace forebay
