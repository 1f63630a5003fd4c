#include "arrow_codec/ipc_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <arrow/io/interfaces.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>

#include "arrow_codec/arrays_of.h"
#include "arrow_codec/arrow_status.h"
#include "arrow_codec/ipc_codec.h"
#include "arrow_codec/ipc_footer.h"

namespace forebay {

namespace {

constexpr std::string_view kWriting = "an Arrow file";
constexpr uint64_t kHeads = 64 << 10;  // of the file's schema, footer and first batches
constexpr uint64_t kMagicBytes = 10;   // behind the footer: its length and ARROW1

Result<arrow::ipc::IpcWriteOptions> write_options(const std::string& compression) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.use_threads = false;
  if (compression.empty()) return options;
  const auto kind = compression == "lz4" ? arrow::Compression::LZ4_FRAME : arrow::Compression::ZSTD;
  FOREBAY_ASSIGN_ARROW(options.codec, arrow::util::Codec::Create(kind), kWriting);
  return options;
}

// Of the types that arrays_of() makes.
size_t buffers_of(const arrow::DataType& type) {
  size_t buffers = type.num_fields() == 0 ? 2 : 0;
  if (type.id() == arrow::Type::FIXED_SIZE_LIST) buffers = 1;
  if (type.id() == arrow::Type::LARGE_LIST) buffers = 2;
  if (type.id() == arrow::Type::LARGE_STRING || type.id() == arrow::Type::LARGE_BINARY) buffers = 3;
  for (const auto& child : type.fields()) buffers += buffers_of(*child->type());
  return buffers;
}

// Values are the last buffer of each column.
Result<std::vector<std::vector<ByteRange>>> places_of_values(std::span<const uint8_t> file,
                                                             const arrow::Schema& schema) {
  FOREBAY_ASSIGN(const uint64_t index, IpcCodec().index_bytes(file, file.size()));
  FOREBAY_ASSIGN(const IpcFooter footer,
                 read_ipc_footer(file.subspan(file.size() - index, index - kMagicBytes), file.size()));
  std::vector<std::vector<ByteRange>> places;
  for (const IpcBlock& block : footer.batches) {
    FOREBAY_ASSIGN(const IpcBatchHead head,
                   read_ipc_batch_head(file.subspan(block.offset, block.head_bytes), block.body_bytes));
    std::vector<ByteRange>& columns = places.emplace_back();
    size_t buffer = 0;
    for (const auto& field : schema.fields()) {
      buffer += buffers_of(*field->type());
      if (buffer > head.buffers.size())
        return internal_error("a written Arrow file has fewer buffers than columns need");
      const ByteRange& values = head.buffers[buffer - 1];
      columns.push_back({block.offset + block.head_bytes + values.offset, values.length});
    }
  }
  return places;
}

// A file in memory of our own, which is taken larger where it does not do.
class FileInMemory final : public arrow::io::OutputStream {
 public:
  explicit FileInMemory(const TakeMemory& memory) : memory_(memory) {}

  Status reserve(size_t bytes) {
    FOREBAY_ASSIGN(Buffer larger, memory_from(memory_, bytes));
    if (size_ > 0) std::memcpy(larger.data(), file_.data(), size_);
    file_ = std::move(larger);
    return {};
  }
  Buffer take() { return file_.slice(0, size_); }

  using arrow::io::OutputStream::Write;
  arrow::Status Write(const void* data, int64_t count) override {
    const auto bytes = static_cast<size_t>(count);
    if (bytes > file_.size() - size_) {
      if (Status status = reserve(std::max(file_.size() * 2, size_ + bytes)); !status.ok())
        return arrow::Status::OutOfMemory(status.message());
    }
    if (bytes > 0) std::memcpy(file_.data() + size_, data, bytes);
    size_ += bytes;
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> Tell() const override { return static_cast<int64_t>(size_); }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }

 private:
  const TakeMemory& memory_;
  Buffer file_;
  size_t size_ = 0;
  bool closed_ = false;
};

}  // namespace

Result<WrittenTable> write_ipc_file(std::span<const Columns> batches, const std::string& compression,
                                    const TakeMemory& memory) {
  if (batches.empty()) return internal_error("an Arrow file of no batches has no schema");
  try {
    FOREBAY_ASSIGN(const auto options, write_options(compression));
    uint64_t bytes = 0;
    for (const Columns& batch : batches) bytes += batch.nbytes();
    const auto out = std::make_shared<FileInMemory>(memory);
    // Once, for files that are not compressed: Write() then seldom has to copy what is there.
    FOREBAY_RETURN_IF_ERROR(out->reserve(bytes + bytes / 64 + kHeads));
    std::shared_ptr<arrow::ipc::RecordBatchWriter> writer;
    std::shared_ptr<arrow::Schema> schema;
    for (const Columns& columns : batches) {
      FOREBAY_ASSIGN(const std::shared_ptr<arrow::RecordBatch> batch, arrays_of(columns));
      if (!writer) {
        schema = batch->schema();
        FOREBAY_ASSIGN_ARROW(writer, arrow::ipc::MakeFileWriter(out, schema, options), kWriting);
      }
      if (auto written = writer->WriteRecordBatch(*batch); !written.ok()) return from_arrow(written, kWriting);
    }
    if (auto closed = writer->Close(); !closed.ok()) return from_arrow(closed, kWriting);
    WrittenTable written{out->take(), {}};
    FOREBAY_ASSIGN(written.values, places_of_values(written.bytes.span(), *schema));
    return written;
  } catch (const std::exception& error) {
    return from_exception(error, kWriting);
  }
}

}  // namespace forebay
