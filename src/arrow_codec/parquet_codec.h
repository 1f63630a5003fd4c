#pragma once

#include "base/table_codec.h"

namespace forebay {

/// Parquet files. Their index is the footer.
/// Without state: any thread may use one. Unsupported where the footer is encrypted.
class ParquetCodec final : public TableCodec {
 public:
  Result<uint64_t> index_bytes(std::span<const uint8_t> tail, uint64_t file_size) const override;
  Result<std::shared_ptr<const TableFile>> open(Buffer tail, uint64_t file_size, const TableReading& reading,
                                                std::span<const TableFile::Piece> more) const override;
};

}  // namespace forebay
