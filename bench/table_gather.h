#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <xxhash.h>

namespace forebay::bench {

/// Where a row of a block is: in which of its row groups, and where in that.
struct Place {
  uint32_t group, row;
};

/// One column of a decoded row group, taken apart.
struct Decoded {
  const uint8_t* values = nullptr;
  const int32_t* offsets = nullptr;  ///< of lists and strings
  int64_t rows = 0;
  size_t width = 0;  ///< bytes of a value, or of an element of a list
};

inline Decoded take_apart(const arrow::ChunkedArray& column, const std::string& name) {
  if (column.num_chunks() != 1) throw std::runtime_error(name + ": a row group came in pieces");
  const arrow::Array& array = *column.chunk(0);
  if (array.null_count() != 0) throw std::runtime_error(name + " has nulls: the bare loop reads tables without");
  Decoded out;
  out.rows = array.length();
  if (array.type_id() == arrow::Type::LIST) {
    const auto& list = static_cast<const arrow::ListArray&>(array);
    const auto& elements = static_cast<const arrow::PrimitiveArray&>(*list.values());
    out.width = static_cast<size_t>(elements.type()->byte_width());
    out.values = elements.values()->data() + static_cast<size_t>(elements.offset()) * out.width;
    out.offsets = list.raw_value_offsets();
  } else if (array.type_id() == arrow::Type::STRING) {
    const auto& text = static_cast<const arrow::StringArray&>(array);
    out.values = text.raw_data();
    out.offsets = text.raw_value_offsets();
    out.width = 1;
  } else {
    const auto& plain = static_cast<const arrow::PrimitiveArray&>(array);
    out.width = static_cast<size_t>(plain.type()->byte_width());
    out.values = plain.values()->data() + static_cast<size_t>(plain.offset()) * out.width;
  }
  return out;
}

inline uint64_t checksum(const Decoded& column) {
  if (column.offsets == nullptr) return XXH3_64bits(column.values, static_cast<size_t>(column.rows) * column.width);
  const auto begin = static_cast<size_t>(column.offsets[0]), end = static_cast<size_t>(column.offsets[column.rows]);
  return XXH3_64bits(column.values + begin * column.width, (end - begin) * column.width) ^
         XXH3_64bits(column.offsets, static_cast<size_t>(column.rows + 1) * sizeof(int32_t));
}

/// One column of a block's batches: what a trainer would get. Memory from `pool`.
struct Gathered {
  std::shared_ptr<arrow::Buffer> values, offsets;
  size_t width = 0;
};

template <typename T>
void gather_fixed(const std::vector<Decoded>& groups, const std::vector<Place>& places, void* out) {
  std::vector<const T*> bases;
  for (const Decoded& group : groups) bases.push_back(reinterpret_cast<const T*>(group.values));
  T* to = static_cast<T*>(out);
  const T* const* from = bases.data();
  for (size_t i = 0; i < places.size(); ++i) to[i] = from[places[i].group][places[i].row];
}

inline int64_t elements_of(const std::vector<Decoded>& groups) {
  int64_t count = 0;
  for (const Decoded& group : groups) count += group.offsets[group.rows] - group.offsets[0];
  return count;
}

inline void gather_ragged(const std::vector<Decoded>& groups, const std::vector<Place>& places, size_t width,
                          uint8_t* values, int64_t* offsets) {
  int64_t at = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    const Decoded& group = groups[places[i].group];
    const int32_t begin = group.offsets[places[i].row], count = group.offsets[places[i].row + 1] - begin;
    offsets[i] = at;
    std::memcpy(values + static_cast<size_t>(at) * width, group.values + static_cast<size_t>(begin) * width,
                static_cast<size_t>(count) * width);
    at += count;
  }
  offsets[places.size()] = at;
}

/// The rows of one column at `places`, in their order.
inline Gathered gather(const std::vector<Decoded>& groups, const std::vector<Place>& places, arrow::MemoryPool* pool) {
  const auto memory = [&](size_t bytes) {
    return std::shared_ptr<arrow::Buffer>(arrow::AllocateBuffer(static_cast<int64_t>(bytes), pool).ValueOrDie());
  };
  Gathered out;
  out.width = groups[0].width;
  if (groups[0].offsets != nullptr) {
    out.values = memory(static_cast<size_t>(elements_of(groups)) * out.width);
    out.offsets = memory((places.size() + 1) * sizeof(int64_t));
    gather_ragged(groups, places, out.width, out.values->mutable_data(), out.offsets->mutable_data_as<int64_t>());
    return out;
  }
  out.values = memory(places.size() * out.width);
  switch (out.width) {
    case 1: gather_fixed<uint8_t>(groups, places, out.values->mutable_data()); break;
    case 2: gather_fixed<uint16_t>(groups, places, out.values->mutable_data()); break;
    case 4: gather_fixed<uint32_t>(groups, places, out.values->mutable_data()); break;
    case 8: gather_fixed<uint64_t>(groups, places, out.values->mutable_data()); break;
    default: throw std::runtime_error("values of " + std::to_string(out.width) + " bytes");
  }
  return out;
}

/// As weighted_sum() in bench/tables/table_values.py: of any order of the rows, the same.
inline uint64_t weighted_sum(const Gathered& column, const uint64_t* keys, size_t rows) {
  constexpr uint64_t kSpread = 0xD1B54A32D192ED03;
  const uint8_t* values = column.values->data();
  uint64_t sum = 0;
  const auto value = [&](size_t i, size_t width) {
    uint64_t bits = 0;
    std::memcpy(&bits, values + i * width, width);
    return bits;
  };
  if (column.offsets == nullptr) {
    for (size_t i = 0; i < rows; ++i) sum += value(i, column.width) * keys[i];
    return sum;
  }
  const auto* offsets = column.offsets->data_as<int64_t>();
  for (size_t i = 0; i < rows; ++i) {
    const auto begin = static_cast<size_t>(offsets[i]), end = static_cast<size_t>(offsets[i + 1]);
    if (column.width == 1) {  // strings of eight characters are numbers here
      if (end - begin == 8) sum += value(begin / 8, 8) * keys[i];
      continue;
    }
    for (size_t j = begin; j < end; ++j) sum += (value(j, column.width) + 1) * (keys[i] + (j - begin) * kSpread);
  }
  return sum;
}

}  // namespace forebay::bench
