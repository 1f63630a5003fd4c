#include "arrow_codec/ipc_footer.h"

#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "arrow_codec/flat_bytes.h"

namespace forebay {

namespace {

Status damaged() { return corrupt("the index of the Arrow file is damaged"); }

// File.fbs, Block: offset (8), metaDataLength (4, and 4 of padding), bodyLength (8).
constexpr uint64_t kBlockBytes = 24;

Result<std::vector<IpcBlock>> read_blocks(const FlatBytes& footer, uint64_t table, unsigned field, uint64_t file_size) {
  const auto vector = footer.vector(table, field, kBlockBytes);
  if (!vector) return damaged();
  std::vector<IpcBlock> blocks;
  for (uint64_t i = 0; i < vector->size; ++i) {
    const uint64_t at = vector->begin + i * kBlockBytes;
    const auto offset = footer.read<int64_t>(at);
    const auto head = footer.read<int32_t>(at + 8);
    const auto body = footer.read<int64_t>(at + 16);
    if (!offset || !head || !body || *offset < 0 || *head <= 0 || *body < 0) return damaged();
    const IpcBlock block{static_cast<uint64_t>(*offset), static_cast<uint64_t>(*head), static_cast<uint64_t>(*body)};
    if (block.offset > file_size || block.head_bytes > file_size - block.offset ||
        block.body_bytes > file_size - block.offset - block.head_bytes)
      return corrupt(fmt::format("a batch of {} bytes at {} is outside of the Arrow file, which has {}",
                                 block.head_bytes + block.body_bytes, block.offset, file_size));
    blocks.push_back(block);
  }
  return blocks;
}

/// Position of the record batch's table in a message.
Result<uint64_t> find_batch(const FlatBytes& message) {
  constexpr uint8_t kRecordBatch = 3;
  const auto table = message.follow(0);
  if (!table) return damaged();
  // Message.fbs, Message: version, header_type, header, bodyLength.
  const auto type = message.field(*table, 1);
  const auto header = message.field(*table, 2);
  if (!type || !header || message.read<uint8_t>(*type) != kRecordBatch) return damaged();
  const auto batch = message.follow(*header);
  if (!batch) return damaged();
  return *batch;
}

}  // namespace

Result<IpcFooter> read_ipc_footer(std::span<const uint8_t> bytes, uint64_t file_size) {
  const FlatBytes footer(bytes);
  const auto table = footer.follow(0);
  if (!table) return damaged();
  IpcFooter out;
  // File.fbs, Footer: version, schema, dictionaries, recordBatches.
  FOREBAY_ASSIGN(out.dictionaries, read_blocks(footer, *table, 2, file_size));
  FOREBAY_ASSIGN(out.batches, read_blocks(footer, *table, 3, file_size));
  return out;
}

Result<IpcBatchHead> read_ipc_batch_head(std::span<const uint8_t> head, uint64_t body_bytes) {
  // A mark and the length come first; old files have only the length.
  const auto mark = FlatBytes(head).read<uint32_t>(0);
  if (!mark) return damaged();
  const size_t prefix = *mark == UINT32_MAX ? 8 : 4;
  if (head.size() <= prefix) return damaged();
  const FlatBytes message(head.subspan(prefix));
  FOREBAY_ASSIGN(const uint64_t batch, find_batch(message));

  IpcBatchHead out;
  // Message.fbs, RecordBatch: length, nodes, buffers, compression, variadicBufferCounts. An absent
  // field has its default, 0.
  if (const auto position = message.field(batch, 0)) {
    const auto rows = message.read<int64_t>(*position);
    if (!rows || *rows < 0) return damaged();
    out.rows = *rows;
  }
  out.compressed = message.field(batch, 3).has_value();
  const auto buffers = message.vector(batch, 2, 16);
  const auto variadic = message.vector(batch, 4, sizeof(int64_t));
  if (!buffers || !variadic) return damaged();
  for (uint64_t i = 0; i < buffers->size; ++i) {
    const auto offset = message.read<int64_t>(buffers->begin + i * 16);
    const auto length = message.read<int64_t>(buffers->begin + i * 16 + 8);
    if (!offset || !length || *offset < 0 || *length < 0) return damaged();
    const ByteRange range{static_cast<uint64_t>(*offset), static_cast<uint64_t>(*length)};
    if (range.offset > body_bytes || range.length > body_bytes - range.offset) return damaged();
    out.buffers.push_back(range);
  }
  for (uint64_t i = 0; i < variadic->size; ++i) {
    const auto count = message.read<int64_t>(variadic->begin + i * sizeof(int64_t));
    if (!count || *count < 0) return damaged();
    out.variadic_buffers.push_back(*count);
  }
  return out;
}

}  // namespace forebay
