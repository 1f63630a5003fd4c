#include "arrow_codec/parquet_writer.h"

#include <algorithm>
#include <cstdint>

#include <arrow/io/memory.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include "arrow_codec/arrays_of.h"
#include "arrow_codec/arrow_status.h"

namespace forebay {

namespace {

constexpr std::string_view kWritingParquet = "a Parquet file";

std::shared_ptr<parquet::WriterProperties> properties_of(const std::string& compression) {
  parquet::WriterProperties::Builder builder;
  const auto codec = compression == "lz4"    ? arrow::Compression::LZ4
                     : compression == "zstd" ? arrow::Compression::ZSTD
                                             : arrow::Compression::UNCOMPRESSED;
  builder.compression(codec)->enable_page_checksum()->max_row_group_length(INT64_MAX);
  return builder.build();
}

// Stores the Arrow types, because Parquet itself has no fixed-size lists.
std::shared_ptr<parquet::ArrowWriterProperties> arrow_properties() {
  return parquet::ArrowWriterProperties::Builder().store_schema()->set_use_threads(false)->build();
}

}  // namespace

Result<Buffer> write_parquet_columns(std::span<const Columns> groups, const std::string& compression) {
  if (groups.empty()) return internal_error("a Parquet file of no row groups has no schema");
  try {
    FOREBAY_ASSIGN_ARROW(const auto out, arrow::io::BufferOutputStream::Create(), kWritingParquet);
    std::unique_ptr<parquet::arrow::FileWriter> writer;
    for (const Columns& columns : groups) {
      FOREBAY_ASSIGN(const std::shared_ptr<arrow::RecordBatch> batch, arrays_of(columns));
      if (!writer) {
        FOREBAY_ASSIGN_ARROW(writer,
                             parquet::arrow::FileWriter::Open(*batch->schema(), arrow::default_memory_pool(), out,
                                                              properties_of(compression), arrow_properties()),
                             kWritingParquet);
      }
      FOREBAY_ASSIGN_ARROW(const auto table, arrow::Table::FromRecordBatches({batch}), kWritingParquet);
      if (auto written = writer->WriteTable(*table, std::max<int64_t>(columns.rows, 1)); !written.ok())
        return from_arrow(written, kWritingParquet);
    }
    if (auto closed = writer->Close(); !closed.ok()) return from_arrow(closed, kWritingParquet);
    FOREBAY_ASSIGN_ARROW(const auto file, out->Finish(), kWritingParquet);
    return Buffer(const_cast<uint8_t*>(file->data()), static_cast<size_t>(file->size()), file);
  } catch (const std::exception& error) {
    return from_exception(error, kWritingParquet);
  }
}

}  // namespace forebay
