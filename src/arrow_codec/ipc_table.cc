#include "arrow_codec/ipc_table.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include "arrow_codec/arrow_status.h"
#include "arrow_codec/batch_columns.h"
#include "arrow_codec/byte_ranges.h"
#include "arrow_codec/piece_file.h"
#include "arrow_codec/recycling_pool.h"

namespace forebay {

namespace {

using arrow::Type;

constexpr std::string_view kArrowFile = "the Arrow file";
constexpr uint64_t kCompressedGrows = 4;  // an estimate

arrow::ipc::IpcReadOptions read_options() {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = &RecyclingPool::instance();
  options.use_threads = false;
  return options;
}

/// Counts the buffers of a batch in the order in which columns own them.
struct BufferCount {
  const IpcBatchHead& head;
  size_t buffers = 0;
  size_t variadic = 0;

  /// Returns false for types whose layout depends on more than the head states.
  bool add(const std::shared_ptr<arrow::DataType>& given) {
    const auto type = storage_type(given);
    switch (type->id()) {
      // Number of buffers per layout ("Buffer Listing for Each Layout" of the Arrow format). The
      // validity buffer counts even if it is absent: its length is 0 then.
      case Type::NA: return true;
      case Type::SPARSE_UNION:
      case Type::DENSE_UNION:
      case Type::RUN_END_ENCODED: return false;
      case Type::STRUCT:
      case Type::FIXED_SIZE_LIST: buffers += 1; break;
      case Type::STRING:
      case Type::BINARY:
      case Type::LARGE_STRING:
      case Type::LARGE_BINARY:
      case Type::LIST_VIEW:
      case Type::LARGE_LIST_VIEW: buffers += 3; break;
      case Type::STRING_VIEW:
      case Type::BINARY_VIEW: {
        if (variadic >= head.variadic_buffers.size()) return false;
        const int64_t more = head.variadic_buffers[variadic++];
        if (more > static_cast<int64_t>(head.buffers.size())) return false;
        buffers += 2 + static_cast<size_t>(more);
        break;
      }
      case Type::DICTIONARY: buffers += 2; return buffers <= head.buffers.size();
      default: buffers += 2; break;
    }
    for (const auto& child : type->fields()) {
      if (!add(child->type())) return false;
    }
    return buffers <= head.buffers.size();
  }
};

ByteRange covering_range(std::span<const ByteRange> buffers) {
  uint64_t begin = UINT64_MAX, end = 0;
  for (const ByteRange& buffer : buffers) {
    if (buffer.length == 0) continue;
    begin = std::min(begin, buffer.offset);
    end = std::max(end, buffer.offset + buffer.length);
  }
  return end == 0 ? ByteRange{} : ByteRange{begin, end - begin};
}

}  // namespace

Result<std::shared_ptr<const TableFile>> IpcTable::open(std::vector<Piece> index, IpcFooter footer, uint64_t file_size,
                                                        const TableReading& reading) {
  std::shared_ptr<IpcTable> table(new IpcTable);
  table->index_ = std::move(index);
  table->file_size_ = file_size;
  try {
    const auto file = std::make_shared<PieceFile>(table->index_, file_size);
    FOREBAY_ASSIGN_ARROW(const auto reader, arrow::ipc::RecordBatchFileReader::Open(file, read_options()), kArrowFile);
    // Arrow and this code each parse the footer. If they disagree, the file is refused.
    if (reader->num_record_batches() != static_cast<int>(footer.batches.size()))
      return corrupt("the index of the Arrow file is damaged");
    FOREBAY_ASSIGN(table->plan_, plan_table(*reader->schema(), reading));
    FOREBAY_RETURN_IF_ERROR(table->read_batches(footer, *reader->schema()));
  } catch (const std::exception& error) {
    return from_exception(error, kArrowFile);
  }
  return std::shared_ptr<const TableFile>(std::move(table));
}

Status IpcTable::read_batches(const IpcFooter& footer, const arrow::Schema& schema) {
  int64_t sum = 0;
  for (const IpcBlock& block : footer.batches) {
    FOREBAY_ASSIGN(Batch batch, read_batch(block, schema));
    if (__builtin_add_overflow(sum, batch.rows, &sum)) return corrupt("the Arrow file claims more rows than can be");
    batches_.push_back(std::move(batch));
  }
  return {};
}

Result<IpcTable::Batch> IpcTable::read_batch(const IpcBlock& block, const arrow::Schema& schema) const {
  PieceFile file(index_, file_size_);
  FOREBAY_ASSIGN_ARROW(const auto bytes,
                       file.ReadAt(static_cast<int64_t>(block.offset), static_cast<int64_t>(block.head_bytes)),
                       kArrowFile);
  FOREBAY_ASSIGN(const IpcBatchHead head,
                 read_ipc_batch_head({bytes->data(), static_cast<size_t>(bytes->size())}, block.body_bytes));
  const uint64_t body = block.offset + block.head_bytes;
  Batch batch{head.rows, head.compressed, {}};
  BufferCount count{head};
  bool known = true;
  for (const auto& field : schema.fields()) {
    const size_t first = count.buffers;
    known = known && count.add(field->type());
    // If the layout is unknown, a column may need any byte of the body.
    ByteRange range{0, block.body_bytes};
    if (known) range = covering_range(std::span(head.buffers).subspan(first, count.buffers - first));
    batch.columns.push_back({body + range.offset, range.length});
  }
  return batch;
}

uint64_t IpcTable::index_bytes() const {
  uint64_t bytes = batches_.size() * sizeof(Batch);
  for (const Piece& piece : index_) bytes += piece.bytes.size();
  for (const Batch& batch : batches_) bytes += batch.columns.size() * sizeof(ByteRange);
  return bytes;
}

std::vector<ByteRange> IpcTable::ranges(int64_t group, std::span<const size_t> fields) const {
  std::vector<ByteRange> ranges;
  for (const int column : columns_of(plan_, fields))
    ranges.push_back(batches_[static_cast<size_t>(group)].columns[static_cast<size_t>(column)]);
  return disjoint_ranges(std::move(ranges));
}

ChunkCost IpcTable::cost(int64_t group, std::span<const size_t> fields) const {
  const Batch& batch = batches_[static_cast<size_t>(group)];
  ChunkCost cost;
  for (const ByteRange& range : ranges(group, fields)) cost.fetched_bytes += range.length;
  for (const size_t field : fields) {
    const uint64_t stored = batch.columns[plan_.leaves[plan_.outputs[field].leaf].column].length;
    cost.decoded_bytes += field_bytes(plan_, field, batch.rows, batch.compressed ? stored * kCompressedGrows : stored);
  }
  return cost;
}

Result<Columns> IpcTable::decode(int64_t group, std::span<const size_t> fields, std::span<const Piece> pieces,
                                 WorkMemory& memory) const {
  const Batch& batch = batches_[static_cast<size_t>(group)];
  Columns none;
  none.rows = batch.rows;
  if (fields.empty()) return none;
  const uint64_t expected = cost(group, fields).decoded_bytes;
  // Arrow first decompresses into memory of its own, of about that size.
  const uint64_t transient = batch.compressed ? expected : 0;
  FOREBAY_RETURN_IF_ERROR(memory.reserve(transient));
  Allowance allowance(expected + transient, memory);
  try {
    FOREBAY_ASSIGN(const arrow::ArrayVector arrays, read_arrays(group, columns_of(plan_, fields), pieces, allowance));
    return batch_columns(plan_, fields, batch.rows, arrays, false);
  } catch (const std::exception& error) {
    if (!allowance.refusal().ok()) return allowance.refusal();
    return from_exception(error, kArrowFile);
  }
}

Result<arrow::ArrayVector> IpcTable::read_arrays(int64_t group, std::vector<int> columns, std::span<const Piece> pieces,
                                                 const Allowance& allowance) const {
  std::vector<Piece> all(index_);
  all.insert(all.end(), pieces.begin(), pieces.end());
  auto options = read_options();
  // Buffers of other columns must not be accessed, because their bytes were not fetched.
  options.included_fields = std::move(columns);
  const auto file = std::make_shared<PieceFile>(all, file_size_);
  auto reader = arrow::ipc::RecordBatchFileReader::Open(file, options);
  if (!reader.ok()) return from_arrow(reader.status(), kArrowFile);
  auto read = (*reader)->ReadRecordBatch(static_cast<int>(group));
  if (!allowance.refusal().ok()) return allowance.refusal();
  if (!read.ok()) return from_arrow(read.status(), kArrowFile);
  const arrow::RecordBatch& batch = **read;
  if (batch.num_rows() != batches_[static_cast<size_t>(group)].rows ||
      batch.num_columns() != static_cast<int>(options.included_fields.size()))
    return corrupt("a batch of the Arrow file is not what the index says");
  size_t count = 0;
  for (const Leaf& leaf : plan_.leaves) count = std::max(count, leaf.column + 1);
  arrow::ArrayVector arrays(count);
  for (size_t i = 0; i < options.included_fields.size(); ++i)
    arrays[static_cast<size_t>(options.included_fields[i])] = batch.column(static_cast<int>(i));
  return arrays;
}

}  // namespace forebay
