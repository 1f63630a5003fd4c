#include "pipeline/packed_rows.h"

#include <algorithm>
#include <cstring>

namespace forebay {

namespace {

constexpr int64_t kRowsAtOnce = 64;  // their packed bytes stay in the first cache while field after field is put in

// Loads and stores of one size each; the compiler makes single instructions of them.
template <size_t kBytes>
void scatter(const uint8_t* from, int64_t rows, uint8_t* to, size_t stride) {
  for (int64_t row = 0; row < rows; ++row, from += kBytes, to += stride) std::memcpy(to, from, kBytes);
}

void scatter_any(const uint8_t* from, int64_t rows, size_t bytes, uint8_t* to, size_t stride) {
  switch (bytes) {
    case 1: return scatter<1>(from, rows, to, stride);
    case 2: return scatter<2>(from, rows, to, stride);
    case 4: return scatter<4>(from, rows, to, stride);
    case 8: return scatter<8>(from, rows, to, stride);
    default:
      for (int64_t row = 0; row < rows; ++row, from += bytes, to += stride) std::memcpy(to, from, bytes);
  }
}

template <size_t kBytes>
void gather(RowPointers rows, size_t offset, uint8_t* out) {
  for (const uint8_t* row : rows) {
    if (row != nullptr) std::memcpy(out, row + offset, kBytes);
    out += kBytes;
  }
}

}  // namespace

void gather_part(RowPointers rows, size_t offset, size_t bytes, uint8_t* out, std::span<const uint32_t> places) {
  if (!places.empty()) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] != nullptr) std::memcpy(out + places[i] * bytes, rows[i] + offset, bytes);
    }
    return;
  }
  switch (bytes) {
    case 1: return gather<1>(rows, offset, out);
    case 2: return gather<2>(rows, offset, out);
    case 4: return gather<4>(rows, offset, out);
    case 8: return gather<8>(rows, offset, out);
    default:
      for (const uint8_t* row : rows) {
        if (row != nullptr) std::memcpy(out, row + offset, bytes);
        out += bytes;
      }
  }
}

PackedRows::PackedRows(const Schema& schema) : schema_(schema) {
  for (size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].fixed_shape()) parts_.push_back({i, 0, row_bytes(schema[i])});
  }
  // Wide elements first, so that every value is aligned.
  std::stable_sort(parts_.begin(), parts_.end(), [&](const Part& a, const Part& b) {
    return dtype_size(schema[a.field].dtype) > dtype_size(schema[b.field].dtype);
  });
  size_t align = 1;
  for (Part& part : parts_) {
    align = std::max(align, dtype_size(schema[part.field].dtype));
    part.offset = stride_;
    stride_ += part.bytes;
  }
  padded_ = stride_ % align != 0;
  stride_ = (stride_ + align - 1) / align * align;
  if (!parts_.empty()) {
    Field packed;
    packed.dtype = DType::kUint8;
    packed.shape = Shape{static_cast<int64_t>(stride_)};
    packed_schema_.push_back(std::move(packed));
  }
  for (size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].fixed_shape()) continue;
    apart_.push_back({i, packed_schema_.size()});
    packed_schema_.push_back(schema[i]);
  }
}

Columns PackedRows::pack(const Columns& columns, Buffer memory) const {
  Columns packed;
  packed.schema = packed_schema_;
  packed.rows = columns.rows;
  packed.bad_rows = columns.bad_rows;
  if (parts_.size() == 1) packed.values.push_back(columns.values[parts_.front().field]);
  if (parts_.size() > 1) {
    packed.values.push_back({memory.slice(0, packed_bytes(columns.rows)), {}});
    if (padded_) std::memset(memory.data(), 0, packed_bytes(columns.rows));  // entries of caches have no chance bytes
    uint8_t* to = packed.values.front().values.data();
    for (int64_t row = 0; row < columns.rows; row += kRowsAtOnce, to += stride_ * kRowsAtOnce) {
      const int64_t rows = std::min(kRowsAtOnce, columns.rows - row);
      for (const Part& part : parts_) {
        const uint8_t* from = columns.values[part.field].values.data() + static_cast<size_t>(row) * part.bytes;
        scatter_any(from, rows, part.bytes, to + part.offset, stride_);
      }
    }
  }
  for (const Apart& apart : apart_) packed.values.push_back(columns.values[apart.field]);
  return packed;
}

Record PackedRows::row(const Columns& packed, int64_t row) const {
  Record values = packed.row(row);
  Record record(schema_.size());
  for (const Part& part : parts_) {
    const Field& field = schema_[part.field];
    record[part.field] =
        Value::of({field.dtype, field.shape, values.front().tensor.buffer.slice(part.offset, part.bytes)});
  }
  for (const Apart& apart : apart_) record[apart.field] = std::move(values[apart.column]);
  return record;
}

}  // namespace forebay
