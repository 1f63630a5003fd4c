#include "arrow_codec/ipc_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <arrow/buffer.h>
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
constexpr uint64_t kHeads = 64 << 10;  // for the file's schema, footer and first batches
constexpr size_t kMoreHeads = 1 << 20;
constexpr uint64_t kOwnPiece = 64 << 10;  // larger buffers are not copied
constexpr uint64_t kMagicBytes = 10;      // after the footer: its length and ARROW1
constexpr size_t kEnoughOfTail = 16;      // enough for IpcCodec to find the footer's length

Result<arrow::ipc::IpcWriteOptions> write_options(const std::string& compression) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.use_threads = false;
  if (compression.empty()) return options;
  const auto kind = compression == "lz4" ? arrow::Compression::LZ4_FRAME : arrow::Compression::ZSTD;
  FOREBAY_ASSIGN_ARROW(options.codec, arrow::util::Codec::Create(kind), kWriting);
  return options;
}

// Number of buffers of the types that arrays_of() makes.
size_t buffers_of(const arrow::DataType& type) {
  size_t buffers = type.num_fields() == 0 ? 2 : 0;
  if (type.id() == arrow::Type::FIXED_SIZE_LIST) buffers = 1;
  if (type.id() == arrow::Type::LARGE_LIST) buffers = 2;
  if (type.id() == arrow::Type::LARGE_STRING || type.id() == arrow::Type::LARGE_BINARY) buffers = 3;
  for (const auto& child : type.fields()) buffers += buffers_of(*child->type());
  return buffers;
}

// The values are the last buffer of each column.
Result<std::vector<std::vector<ByteRange>>> places_of_values(const BufferChain& file, const arrow::Schema& schema) {
  const size_t enough = std::min(kEnoughOfTail, file.size());
  const Buffer tail = file.together(file.size() - enough, enough);
  FOREBAY_ASSIGN(const uint64_t index, IpcCodec().index_tail_bytes(tail.span(), file.size()));
  const Buffer described = file.together(file.size() - index, index - kMagicBytes);
  FOREBAY_ASSIGN(const IpcFooter footer, read_ipc_footer(described.span(), file.size()));
  std::vector<std::vector<ByteRange>> ranges;
  for (const IpcBlock& block : footer.batches) {
    const Buffer bytes = file.together(block.offset, block.head_bytes);
    FOREBAY_ASSIGN(const IpcBatchHead head, read_ipc_batch_head(bytes.span(), block.body_bytes));
    std::vector<ByteRange>& columns = ranges.emplace_back();
    size_t buffer = 0;
    for (const auto& field : schema.fields()) {
      buffer += buffers_of(*field->type());
      if (buffer > head.buffers.size())
        return internal_error("a written Arrow file has fewer buffers than columns need");
      const ByteRange& values = head.buffers[buffer - 1];
      columns.push_back({block.offset + block.head_bytes + values.offset, values.length});
    }
  }
  return ranges;
}

// Estimate of the bytes that write_ipc_file() copies for uncompressed columns.
uint64_t bytes_to_copy(std::span<const Columns> batches) {
  uint64_t all = 0, small = 0;
  for (const Columns& batch : batches) {
    all += batch.nbytes();
    for (const ColumnValues& column : batch.values)
      for (const Buffer* buffer : {&column.values, &column.offsets})
        if (buffer->size() < kOwnPiece) small += buffer->size();
  }
  return small + all / 64 + kHeads;
}

// A Buffer that keeps Arrow's buffer alive.
Buffer buffer_of(const std::shared_ptr<arrow::Buffer>& from) {
  return Buffer(const_cast<uint8_t*>(from->data()), static_cast<size_t>(from->size()),
                std::const_pointer_cast<void>(std::shared_ptr<const void>(from)));
}

// A file in memory. Large buffers are referenced; all others are copied into blocks.
class FileInPieces final : public arrow::io::OutputStream {
 public:
  FileInPieces(const BufferAllocator& memory, size_t expected) : memory_(memory), next_block_(expected) {}

  BufferChain take() {
    end_run();
    return std::exchange(file_, {});
  }

  arrow::Status Write(const void* data, int64_t count) override {
    const auto bytes = static_cast<size_t>(count);
    if (bytes == 0) return arrow::Status::OK();
    if (bytes > block_.size() - used_) {
      end_run();
      Result<Buffer> block = allocate_buffer(memory_, std::max(next_block_, bytes));
      if (!block.ok()) return arrow::Status::OutOfMemory(block.status().message());
      block_ = std::move(*block);
      begin_ = used_ = 0;
      next_block_ = kMoreHeads;
    }
    std::memcpy(block_.data() + used_, data, bytes);
    used_ += bytes;
    return arrow::Status::OK();
  }
  arrow::Status Write(const std::shared_ptr<arrow::Buffer>& data) override {
    if (static_cast<uint64_t>(data->size()) < kOwnPiece) return Write(data->data(), data->size());
    end_run();
    file_.add(buffer_of(data));
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> Tell() const override { return static_cast<int64_t>(file_.size() + used_ - begin_); }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }

 private:
  void end_run() {
    file_.add(block_.slice(begin_, used_ - begin_));
    begin_ = used_;
  }

  const BufferAllocator& memory_;
  size_t next_block_;
  Buffer block_;
  size_t begin_ = 0, used_ = 0;  // in the block: begin of what is not in the file yet, and its end
  BufferChain file_;
  bool closed_ = false;
};

}  // namespace

Result<WrittenTable> write_ipc_file(std::span<const Columns> batches, const std::string& compression,
                                    const BufferAllocator& memory) {
  if (batches.empty()) return internal_error("an Arrow file of no batches has no schema");
  try {
    FOREBAY_ASSIGN(const auto options, write_options(compression));
    const auto out = std::make_shared<FileInPieces>(memory, bytes_to_copy(batches));
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
    FOREBAY_ASSIGN(written.values, places_of_values(written.bytes, *schema));
    return written;
  } catch (const std::exception& error) {
    return from_exception(error, kWriting);
  }
}

}  // namespace forebay
