#include "arrow_codec/codecs.h"

#include <arrow/config.h>

#include "arrow_codec/ipc_codec.h"
#include "arrow_codec/ipc_writer.h"
#include "arrow_codec/memory_table.h"
#include "arrow_codec/parquet_codec.h"
#include "arrow_codec/parquet_writer.h"
#include "arrow_codec/recycling_pool.h"

namespace forebay {

namespace {

class ArrowCodecs final : public TableCodecs {
 public:
  const TableCodec& parquet() const override { return parquet_; }
  const TableCodec& arrow_file() const override { return arrow_file_; }
  Result<std::shared_ptr<const TableFile>> take_stream(void* stream, const TableReading& reading) const override {
    return MemoryTable::of_stream(stream, reading);
  }
  using TableCodecs::write_arrow_file;
  Result<WrittenTable> write_arrow_file(std::span<const Columns> batches, const std::string& compression,
                                        const BufferAllocator& memory) const override {
    return write_ipc_file(batches, compression, memory);
  }
  Result<Buffer> write_parquet_file(std::span<const Columns> groups, const std::string& compression) const override {
    return write_parquet_columns(groups, compression);
  }
  std::string version() const override { return "arrow " + arrow::GetBuildInfo().version_string; }
  ReclaimableMemory& idle_memory() const override { return RecyclingPool::instance(); }

 private:
  ParquetCodec parquet_;
  IpcCodec arrow_file_;
};

}  // namespace

const TableCodecs& arrow_codecs() {
  static const auto* codecs = new ArrowCodecs;
  return *codecs;
}

}  // namespace forebay
