#include "arrow_codec/parquet_codec.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <parquet/exception.h>
#include <parquet/metadata.h>

#include "arrow_codec/arrow_releases.h"
#include "arrow_codec/arrow_status.h"
#include "arrow_codec/parquet_table.h"

namespace forebay {

namespace {

constexpr uint64_t kTailBytes = 8;      // length of the footer and the magic number
constexpr uint64_t kSmallestFile = 12;  // adds the magic number at the beginning
constexpr std::string_view kFooter = "the footer of the Parquet file";

}  // namespace

Result<uint64_t> ParquetCodec::index_tail_bytes(std::span<const uint8_t> tail, uint64_t file_size) const {
  if (file_size < kSmallestFile || tail.size() < kTailBytes)
    return corrupt(fmt::format("is no Parquet file: {} bytes are too few", file_size));
  const uint8_t* end = tail.data() + tail.size();
  if (std::memcmp(end - 4, "PARE", 4) == 0)
    return unsupported("the footer of the Parquet file is encrypted; Forebay holds no keys");
  if (std::memcmp(end - 4, "PAR1", 4) != 0)
    return corrupt("is no Parquet file, or it was cut off: it does not end with PAR1");
  uint32_t length = 0;
  std::memcpy(&length, end - kTailBytes, sizeof length);
  // Cannot overflow, because kSmallestFile was checked above.
  if (length == 0 || length > file_size - kSmallestFile)
    return corrupt(fmt::format("{} claims to be {} bytes long, in a file of {}", kFooter, length, file_size));
  return length + kTailBytes;
}

Result<std::shared_ptr<const TableFile>> ParquetCodec::open(Buffer tail, uint64_t file_size,
                                                            const TableReading& reading,
                                                            std::span<const TableFile::Piece> /*more*/) const {
  FOREBAY_ASSIGN(const uint64_t bytes, index_tail_bytes(tail.span(), file_size));
  if (tail.size() < bytes) return internal_error("a Parquet file was opened with less than its footer");
  const auto length = static_cast<int64_t>(bytes - kTailBytes);
  try {
    parquet::ReaderProperties properties;
    const auto most =
        // Limit of any count or length in the footer.
        static_cast<int32_t>(std::min<int64_t>(length, INT32_MAX));
    // Nothing in the footer can be longer or more numerous than its bytes, so larger claims
    // allocate nothing.
    properties.set_thrift_string_size_limit(most);
    properties.set_thrift_container_size_limit(most);
    auto footer = parse_footer(tail.data() + (tail.size() - bytes), length, properties);
    return ParquetTable::open(std::move(footer), file_size, reading);
  } catch (const std::exception& error) {
    return from_exception(error, kFooter);
  }
}

}  // namespace forebay
