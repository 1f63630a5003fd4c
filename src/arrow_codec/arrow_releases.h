#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/table.h>
#include <arrow/util/config.h>
#include <arrow/util/future.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#if ARROW_VERSION_MAJOR >= 19
#include <parquet/size_statistics.h>
#endif

namespace forebay {

/// Arrow's interfaces that differ between the releases that this module can be compiled with, in
/// the form of the newest. No other file asks for Arrow's version.

/// Bytes of a chunk's strings, if its writer stated them and this release reads the statement.
inline std::optional<int64_t> stated_string_bytes(const parquet::ColumnChunkMetaData& chunk) {
#if ARROW_VERSION_MAJOR >= 19
  if (const auto sizes = chunk.size_statistics()) return sizes->unencoded_byte_array_data_bytes;
#else
  static_cast<void>(chunk);
#endif
  return std::nullopt;
}

/// Has strings without an Arrow type read with 64-bit offsets. Earlier releases than 21 read them
/// with 32-bit offsets, and refuse those of a struct or list beyond 2 GiB.
inline void read_large_strings(parquet::ArrowReaderProperties& properties) {
#if ARROW_VERSION_MAJOR >= 21
  properties.set_binary_type(arrow::Type::LARGE_BINARY);
#else
  static_cast<void>(properties);
#endif
}

inline arrow::Result<std::unique_ptr<parquet::arrow::FileReader>> make_file_reader(
    arrow::MemoryPool* pool, std::unique_ptr<parquet::ParquetFileReader> file,
    const parquet::ArrowReaderProperties& properties) {
#if ARROW_VERSION_MAJOR >= 23
  return parquet::arrow::FileReader::Make(pool, std::move(file), properties);
#else
  std::unique_ptr<parquet::arrow::FileReader> reader;
  ARROW_RETURN_NOT_OK(parquet::arrow::FileReader::Make(pool, std::move(file), properties, &reader));
  return reader;
#endif
}

inline arrow::Result<std::shared_ptr<arrow::Table>> read_row_group(parquet::arrow::FileReader& reader, int group,
                                                                   const std::vector<int>& columns) {
#if ARROW_VERSION_MAJOR >= 24
  return reader.ReadRowGroup(group, columns);
#else
  std::shared_ptr<arrow::Table> table;
  ARROW_RETURN_NOT_OK(reader.ReadRowGroup(group, columns, &table));
  return table;
#endif
}

/// Parses a footer of `length` bytes, which is below 4 GiB. Throws Parquet's exceptions.
inline std::shared_ptr<parquet::FileMetaData> parse_footer(const void* footer, int64_t length,
                                                           const parquet::ReaderProperties& properties) {
#if ARROW_VERSION_MAJOR >= 26
  return parquet::FileMetaData::Make(footer, length, properties);
#else
  auto bytes = static_cast<uint32_t>(length);
  return parquet::FileMetaData::Make(footer, &bytes, properties);
#endif
}

/// A file whose asynchronous reads happen on the caller's thread, before they return. Arrow's own
/// implementation would outlive the call and ignore the Allowance.
class ReadHereFile : public arrow::io::RandomAccessFile {
 public:
  using BufferFuture = arrow::Future<std::shared_ptr<arrow::Buffer>>;

  BufferFuture ReadAsync(const arrow::io::IOContext&, int64_t position, int64_t nbytes) final {
    return BufferFuture::MakeFinished(ReadAt(position, nbytes));
  }
#if ARROW_VERSION_MAJOR >= 25
  BufferFuture ReadAsync(const arrow::io::IOContext&, int64_t position, int64_t nbytes, bool allow_short_read) final {
    return BufferFuture::MakeFinished(ReadAt(position, nbytes, allow_short_read));
  }
#endif
};

}  // namespace forebay
