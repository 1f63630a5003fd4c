#include "arrow_codec/leaf_values.h"

#include <cstring>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/util/bit_util.h>
#include <fmt/format.h>

#include "arrow_codec/array_numbers.h"
#include "arrow_codec/converted_values.h"
#include "arrow_codec/piece_file.h"
#include "arrow_codec/recycling_pool.h"
#include "arrow_codec/table_plan.h"

namespace forebay {

namespace {

using arrow::Type;

/// Stores `get(place)` for each element of the segments.
template <typename T, typename Get>
Result<LeafValues> computed(std::span<const Segment> segments, int64_t count, Get get) {
  FOREBAY_ASSIGN(Buffer out, take_memory(static_cast<size_t>(count) * sizeof(T)));
  auto* to = reinterpret_cast<T*>(out.data());
  for (const Segment& segment : segments) {
    for (int64_t index = segment.start; index < segment.start + segment.length; ++index) *to++ = get(index);
  }
  return LeafValues{std::move(out), true};
}

Result<LeafValues> copied(const arrow::ArrayData& data, std::span<const Segment> segments, int64_t count, size_t width,
                          bool owned) {
  const std::shared_ptr<arrow::Buffer>& buffer = data.buffers[1];
  const auto index = [&](int64_t at) { return static_cast<size_t>(data.offset + at) * width; };
  // Foreign memory (C data interface) may be unaligned, but values are read as numbers later.
  const bool aligned = reinterpret_cast<uintptr_t>(buffer->data()) % width == 0;
  if (segments.size() == 1 && aligned)
    return LeafValues{forebay_view(buffer).slice(index(segments[0].start), static_cast<size_t>(count) * width), owned};
  FOREBAY_ASSIGN(Buffer out, take_memory(static_cast<size_t>(count) * width));
  uint8_t* to = out.data();
  for (const Segment& segment : segments) {
    const size_t bytes = static_cast<size_t>(segment.length) * width;
    std::memcpy(to, buffer->data() + index(segment.start), bytes);
    to += bytes;
  }
  return LeafValues{std::move(out), true};
}

template <typename T>
Result<LeafValues> gathered(const arrow::DictionaryArray& array, std::span<const Segment> segments, int64_t count,
                            const LeafValues& values) {
  const Buffer& dictionary = values.bytes;
  const int64_t entries = array.dictionary()->length();
  int64_t wrong = 0;
  FOREBAY_ASSIGN(LeafValues out, computed<T>(segments, count, [&](int64_t index) {
                   // Checked before the index, because nulls may have any index.
                   if (array.IsNull(index)) return T{};
                   const int64_t entry = array.GetValueIndex(index);
                   if (entry < 0 || entry >= entries) return ++wrong, T{};
                   return loaded_as<T>(dictionary.data() + static_cast<size_t>(entry) * sizeof(T));
                 }));
  if (wrong > 0) return corrupt(fmt::format("{} values point outside of their dictionary", wrong));
  if (values.exact.empty()) return out;
  FOREBAY_ASSIGN(LeafValues exact, computed<uint8_t>(segments, count, [&](int64_t index) -> uint8_t {
                   return array.IsNull(index) ? 1 : values.exact.data()[array.GetValueIndex(index)];
                 }));
  out.exact = std::move(exact.bytes);
  return out;
}

Result<LeafValues> from_dictionary(const arrow::DictionaryArray& array, std::span<const Segment> segments,
                                   int64_t count, const ColumnType& to, FloatRounding rounding) {
  const arrow::Array& dictionary = *array.dictionary();
  const Segment all{0, dictionary.length()};
  FOREBAY_ASSIGN(const LeafValues values, leaf_values(dictionary, {&all, 1}, dictionary.length(), to, rounding, false));
  switch (dtype_size(to.dtype)) {
    case 1: return gathered<uint8_t>(array, segments, count, values);
    case 2: return gathered<uint16_t>(array, segments, count, values);
    case 4: return gathered<uint32_t>(array, segments, count, values);
    default: return gathered<uint64_t>(array, segments, count, values);
  }
}

}  // namespace

void unpack_bits(const uint8_t* bits, int64_t first, int64_t count, uint8_t* out) {
  int64_t at = first;
  const int64_t end = first + count;
  for (; at < end && at % 8 != 0; ++at) *out++ = arrow::bit_util::GetBit(bits, at) ? 1 : 0;
  for (; at + 8 <= end; at += 8, out += 8) {
    // Byte i keeps bit i of its copy. Adding 0x7f carries any set bit to the top of its byte.
    const uint64_t kept = (bits[at / 8] * 0x0101010101010101u) & 0x8040201008040201u;
    const uint64_t bytes = ((kept + 0x7f7f7f7f7f7f7f7fu) >> 7) & 0x0101010101010101u;
    std::memcpy(out, &bytes, sizeof bytes);
  }
  for (; at < end; ++at) *out++ = arrow::bit_util::GetBit(bits, at) ? 1 : 0;
}

Result<LeafValues> leaf_values(const arrow::Array& array, std::span<const Segment> segments, int64_t count,
                               const ColumnType& to, FloatRounding rounding, bool owned) {
  if (count == 0) return LeafValues{};
  const arrow::ArrayData& data = *array.data();
  switch (array.type_id()) {
    case Type::EXTENSION:
      return leaf_values(*static_cast<const arrow::ExtensionArray&>(array).storage(), segments, count, to, rounding,
                         owned);
    case Type::NA: {
      FOREBAY_ASSIGN(Buffer out, take_memory(static_cast<size_t>(count) * dtype_size(to.dtype)));
      std::memset(out.data(), 0, out.size());
      return LeafValues{std::move(out), true};
    }
    case Type::DICTIONARY:
      return from_dictionary(static_cast<const arrow::DictionaryArray&>(array), segments, count, to, rounding);
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256: return converted_values(array, segments, count, to, rounding);
    default: break;
  }
  FOREBAY_ASSIGN(const ColumnType own, leaf_type(*array.type()));
  // Unchanged ticks need no conversion; only the width may differ.
  const bool ticks = own.time.has_value() != to.time.has_value() && own.dtype == to.dtype;
  if (own != to && !ticks) return converted_values(array, segments, count, to, rounding);
  switch (array.type_id()) {
    case Type::BOOL: {
      FOREBAY_ASSIGN(Buffer out, take_memory(static_cast<size_t>(count)));
      uint8_t* bits = out.data();
      for (const Segment& segment : segments) {
        unpack_bits(data.buffers[1]->data(), data.offset + segment.start, segment.length, bits);
        bits += segment.length;
      }
      return LeafValues{std::move(out), true};
    }
    case Type::DATE32:
    case Type::TIME32: {
      const uint8_t* from = data.buffers[1]->data();
      return computed<int64_t>(segments, count, [&](int64_t index) {
        return int64_t{loaded_as<int32_t>(from + static_cast<size_t>(data.offset + index) * sizeof(int32_t))};
      });
    }
    default: return copied(data, segments, count, dtype_size(to.dtype), owned);
  }
}

}  // namespace forebay
