#include "pipeline/packed_rows.h"

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace forebay {

namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kSecondCache = size_t{64} << 10;        // fits into the second-level cache
constexpr size_t kRowsGathered = 128, kRowsPacked = 64;  // at most so many rows at once

// Prefetches into the second-level cache, which allows more outstanding loads than the first.
void prefetch(const uint8_t* from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(from + at, 0, 2);
}

// Copies to memory that is not read soon. Loading that memory into the caches first would be a
// third of the traffic.
void copy_past_caches(const uint8_t* from, size_t bytes, uint8_t* to) {
#ifdef __SSE2__
  constexpr size_t kStep = sizeof(__m128i);
  if (reinterpret_cast<uintptr_t>(to) % kStep == 0 && reinterpret_cast<uintptr_t>(from) % kStep == 0) {
    size_t at = 0;
    for (; at + kStep <= bytes; at += kStep) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(from + at)));
    }
    std::memcpy(to + at, from + at, bytes - at);
    _mm_sfence();  // makes the rows visible to threads that synchronize in the usual way
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

// Copies values of a fixed size, which the compiler turns into single instructions.
template <size_t kBytes>
void scatter(const uint8_t* from, size_t rows, uint8_t* to, size_t stride) {
  for (size_t row = 0; row < rows; ++row, from += kBytes, to += stride) std::memcpy(to, from, kBytes);
}

void scatter_any(const uint8_t* from, size_t rows, size_t bytes, uint8_t* to, size_t stride) {
  switch (bytes) {
    case 1: return scatter<1>(from, rows, to, stride);
    case 2: return scatter<2>(from, rows, to, stride);
    case 4: return scatter<4>(from, rows, to, stride);
    case 8: return scatter<8>(from, rows, to, stride);
    default:
      for (size_t row = 0; row < rows; ++row, from += bytes, to += stride) std::memcpy(to, from, bytes);
  }
}

template <size_t kBytes>
void gather(RowPointers rows, size_t offset, uint8_t* out, std::span<const uint32_t> destinations) {
  if (destinations.empty()) {
    for (size_t i = 0; i < rows.size(); ++i) std::memcpy(out + i * kBytes, rows[i] + offset, kBytes);
  } else {
    for (size_t i = 0; i < rows.size(); ++i) std::memcpy(out + destinations[i] * kBytes, rows[i] + offset, kBytes);
  }
}

// Copies one part of each row, to consecutive indices or to `destinations`.
void gather_part(RowPointers rows, const PackedRows::Part& part, uint8_t* out, std::span<const uint32_t> destinations) {
  const auto [field, offset, bytes] = part;
  switch (bytes) {
    case 1: return gather<1>(rows, offset, out, destinations);
    case 2: return gather<2>(rows, offset, out, destinations);
    case 4: return gather<4>(rows, offset, out, destinations);
    case 8: return gather<8>(rows, offset, out, destinations);
    default:
      for (size_t i = 0; i < rows.size(); ++i)
        std::memcpy(out + (destinations.empty() ? i : destinations[i]) * bytes, rows[i] + offset, bytes);
  }
}

}  // namespace

// Processes some rows at a time. While their parts are copied, the next rows are prefetched, one by
// one between the parts. Prefetching them all at once would exceed the outstanding loads of a core
// and delay the loads that are needed now.
void PackedRows::gather(RowPointers rows, std::span<uint8_t* const> slots,
                        std::span<const uint32_t> destinations) const {
  if (parts_.empty()) return;
  const size_t at_once = std::clamp<size_t>(kSecondCache / std::max<size_t>(stride_, 1), 1, kRowsGathered);
  for (const uint8_t* row : rows.first(std::min(at_once, rows.size()))) prefetch(row, stride_);
  for (size_t at = 0; at < rows.size(); at += at_once) {
    const size_t count = std::min(at_once, rows.size() - at);
    const RowPointers now = rows.subspan(at, count);
    const RowPointers next = rows.subspan(at + count, std::min(at_once, rows.size() - at - count));
    size_t prefetched = 0;
    for (size_t p = 0; p < parts_.size(); ++p) {
      for (const size_t until = next.size() * (p + 1) / parts_.size(); prefetched < until; ++prefetched)
        prefetch(next[prefetched], stride_);
      uint8_t* out = slots[p] + (destinations.empty() ? at * parts_[p].bytes : 0);
      gather_part(now, parts_[p], out, destinations.empty() ? destinations : destinations.subspan(at, count));
    }
  }
}

PackedRows::PackedRows(const Schema& schema) : schema_(schema) {
  for (size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].fixed_shape()) parts_.push_back({i, 0, row_bytes(schema[i])});
  }
  // Wide elements come first, so that every value is aligned.
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
    unpacked_.push_back({i, packed_schema_.size()});
    packed_schema_.push_back(schema[i]);
  }
}

// Some rows at a time are packed in the caches and then written at once. A table has more columns
// than a core's hardware prefetcher follows, so each column is prefetched.
void PackedRows::pack_rows(const Columns& columns, uint8_t* out) const {
  const bool in_caches = stride_ * kRowsPacked <= kSecondCache;
  const auto at_once = in_caches ? kRowsPacked : std::max<size_t>(kSecondCache / stride_, 1);
  Buffer staged = in_caches ? Buffer::allocate(kRowsPacked * stride_) : Buffer();
  const auto rows = static_cast<size_t>(columns.rows);
  // Padding is zeroed, since cache entries must not contain arbitrary bytes.
  if (padded_) std::memset(in_caches ? staged.data() : out, 0, in_caches ? staged.size() : rows * stride_);
  for (size_t row = 0; row < rows; row += at_once, out += at_once * stride_) {
    const size_t count = std::min(at_once, rows - row), next = std::min(at_once, rows - row - count);
    for (const Part& part : parts_) {
      const uint8_t* from = columns.values[part.field].values.data() + row * part.bytes;
      if (in_caches) prefetch(from + count * part.bytes, next * part.bytes);
      scatter_any(from, count, part.bytes, (in_caches ? staged.data() : out) + part.offset, stride_);
    }
    if (in_caches) copy_past_caches(staged.data(), count * stride_, out);
  }
}

Columns PackedRows::pack(const Columns& columns, Buffer memory) const {
  Columns packed;
  packed.schema = packed_schema_;
  packed.rows = columns.rows;
  packed.bad_rows = columns.bad_rows;
  // A single column is stored row by row already, so nothing is copied.
  if (parts_.size() == 1) packed.values.push_back(columns.values[parts_.front().field]);
  if (parts_.size() > 1) {
    packed.values.push_back({memory.slice(0, packed_bytes(columns.rows)), {}});
    pack_rows(columns, memory.data());
  }
  for (const UnpackedField& unpacked : unpacked_) packed.values.push_back(columns.values[unpacked.field]);
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
  for (const UnpackedField& unpacked : unpacked_) record[unpacked.field] = std::move(values[unpacked.column]);
  return record;
}

}  // namespace forebay
