#include "arrow_codec/arrays_of.h"

#include <cstring>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <fmt/format.h>

#include "arrow_codec/arrow_status.h"
#include "base/utf8.h"
#include "forebay/string_list.h"

namespace forebay {

namespace {

using ArrayResult = Result<std::shared_ptr<arrow::Array>>;

std::shared_ptr<arrow::DataType> type_of(DType dtype) {
  switch (dtype) {
    case DType::kBool: return arrow::boolean();
    case DType::kUint8: return arrow::uint8();
    case DType::kInt8: return arrow::int8();
    case DType::kUint16: return arrow::uint16();
    case DType::kInt16: return arrow::int16();
    case DType::kUint32: return arrow::uint32();
    case DType::kInt32: return arrow::int32();
    case DType::kUint64: return arrow::uint64();
    case DType::kInt64: return arrow::int64();
    case DType::kFloat16: return arrow::float16();
    // Arrow has no such type; writers refuse it before.
    case DType::kBfloat16: return arrow::uint16();
    case DType::kFloat32: return arrow::float32();
    case DType::kFloat64: return arrow::float64();
  }
  return nullptr;
}

/// An Arrow buffer that keeps a Buffer alive.
class ViewOfBuffer final : public arrow::Buffer {
 public:
  explicit ViewOfBuffer(const forebay::Buffer& viewed)
      : arrow::Buffer(viewed.data(), static_cast<int64_t>(viewed.size())), viewed_(viewed) {}

 private:
  const forebay::Buffer viewed_;
};

std::shared_ptr<arrow::Buffer> viewed(const Buffer& buffer) { return std::make_shared<ViewOfBuffer>(buffer); }

// Packs bools into bits.
Result<std::shared_ptr<arrow::Buffer>> packed(const uint8_t* values, int64_t count) {
  FOREBAY_ASSIGN_ARROW(auto bits, arrow::AllocateEmptyBitmap(count), "memory for bits");
  for (int64_t i = 0; i < count; ++i)
    if (values[i] != 0) arrow::bit_util::SetBit(bits->mutable_data(), i);
  return std::shared_ptr<arrow::Buffer>(std::move(bits));
}

ArrayResult numbers(DType dtype, const Buffer& values, int64_t count) {
  std::shared_ptr<arrow::Buffer> data = viewed(values);
  if (dtype == DType::kBool) {
    FOREBAY_ASSIGN(data, packed(values.data(), count));
  }
  return arrow::MakeArray(arrow::ArrayData::Make(type_of(dtype), count, {nullptr, std::move(data)}, 0));
}

std::shared_ptr<arrow::Field> element_of(const arrow::Array& array) {
  return arrow::field("item", array.type(), /*nullable=*/false);
}

// The axes of `field` from `first` on are those of each of `count` tensors in `values`.
ArrayResult tensors(const Field& field, size_t first, const Buffer& values, int64_t count) {
  int64_t elements = count;
  for (size_t i = first; i < field.shape.rank(); ++i) elements *= field.shape[i];
  FOREBAY_ASSIGN(std::shared_ptr<arrow::Array> array, numbers(field.dtype, values, elements));
  for (size_t i = field.shape.rank(); i-- > first;) {
    int64_t lists = count;  // counted from the outside, because a dimension may be 0
    for (size_t outer = first; outer < i; ++outer) lists *= field.shape[outer];
    const auto type = arrow::fixed_size_list(element_of(*array), static_cast<int32_t>(field.shape[i]));
    array = std::make_shared<arrow::FixedSizeListArray>(type, lists, array);
  }
  return array;
}

struct Run {
  std::shared_ptr<arrow::Buffer> offsets;
  Buffer values;
};

// The values between the first and the last offset; `bytes` is the size of an item.
Run run_of(const ColumnValues& column, int64_t rows, size_t bytes) {
  const auto first = static_cast<size_t>(column.offset()[0]), last = static_cast<size_t>(column.offset()[rows]);
  Run run{viewed(column.offsets), column.values.slice(first * bytes, (last - first) * bytes)};
  // The values are cut to this range, so offsets must count from its beginning.
  if (first == 0) return run;
  Buffer from_zero = Buffer::allocate(static_cast<size_t>(rows + 1) * sizeof(int64_t));
  for (int64_t i = 0; i <= rows; ++i)
    reinterpret_cast<int64_t*>(from_zero.data())[i] = column.offset()[i] - static_cast<int64_t>(first);
  run.offsets = viewed(from_zero);
  return run;
}

ArrayResult lists(const Field& field, const ColumnValues& column, int64_t rows) {
  const Run run = run_of(column, rows, item_bytes(field));
  FOREBAY_ASSIGN(const std::shared_ptr<arrow::Array> items,
                 tensors(field, 1, run.values, column.offset()[rows] - column.offset()[0]));
  return std::static_pointer_cast<arrow::Array>(
      std::make_shared<arrow::LargeListArray>(arrow::large_list(element_of(*items)), rows, run.offsets, items));
}

Status not_utf8(const Field& field) {
  return invalid_argument(fmt::format(
      "the column '{}' has text that is not UTF-8, which Arrow cannot hold; leave it out with .select()", field.name));
}

ArrayResult strings(const Field& field, const ColumnValues& column, int64_t rows) {
  const std::span<const int64_t> offsets{column.offset(), static_cast<size_t>(rows) + 1};
  const bool text = field.kind == FieldKind::kText;
  if (text && !all_utf8(column.values.span(), offsets)) return not_utf8(field);
  const Run run = run_of(column, rows, 1);
  const auto type = text ? arrow::large_utf8() : arrow::large_binary();
  return arrow::MakeArray(arrow::ArrayData::Make(type, rows, {nullptr, run.offsets, viewed(run.values)}, 0));
}

template <typename Builder>
ArrayResult string_lists(const Field& field, const ColumnValues& column, int64_t rows) {
  const auto inner = std::make_shared<Builder>();
  arrow::LargeListBuilder builder(arrow::default_memory_pool(), inner,
                                  arrow::large_list(arrow::field("item", inner->type(), /*nullable=*/false)));
  for (int64_t row = 0; row < rows; ++row) {
    const auto begin = static_cast<size_t>(column.offset()[row]), end = static_cast<size_t>(column.offset()[row + 1]);
    const StringList list(column.values.span().subspan(begin, end - begin));
    arrow::Status added = builder.Append();
    for (size_t i = 0; i < list.size() && added.ok(); ++i) {
      if (field.kind == FieldKind::kTextList && !is_utf8(list[i])) return not_utf8(field);
      added = inner->Append(list.text(i));
    }
    if (!added.ok()) return from_arrow(added, field.name);
  }
  FOREBAY_ASSIGN_ARROW(std::shared_ptr<arrow::Array> array, builder.Finish(), field.name);
  return array;
}

ArrayResult array_of(const Field& field, const ColumnValues& values, int64_t rows) {
  switch (field.kind) {
    case FieldKind::kTensor:
      return is_ragged(field) ? lists(field, values, rows) : tensors(field, 0, values.values, rows);
    case FieldKind::kBytes:
    case FieldKind::kText: return strings(field, values, rows);
    case FieldKind::kBytesList: return string_lists<arrow::LargeBinaryBuilder>(field, values, rows);
    case FieldKind::kTextList: return string_lists<arrow::LargeStringBuilder>(field, values, rows);
    case FieldKind::kAny: break;
  }
  return internal_error("a column of any kind was to be written");
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> arrays_of(const Columns& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (size_t i = 0; i < columns.schema.size(); ++i) {
    const Field& field = columns.schema[i];
    FOREBAY_ASSIGN(std::shared_ptr<arrow::Array> array, array_of(field, columns.values[i], columns.rows));
    fields.push_back(arrow::field(field.name, array->type(), /*nullable=*/false));
    arrays.push_back(std::move(array));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), columns.rows, std::move(arrays));
}

}  // namespace forebay
