#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <arrow/array.h>
#include <arrow/util/bit_util.h>
#include <fmt/format.h>

#include "forebay/status.h"

namespace forebay {

/// IEEE 754 half precision, for which C++ has no type.
struct Float16 {
  uint16_t bits;
};

/// Reads a value that need not be aligned.
template <typename T>
T loaded_as(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Calls `visit(get)`, where `get` maps an index of the array to a value of its C++ type, and
/// returns the result. Dates and times are integers. Unsupported if the array holds neither bools
/// nor numbers of a fixed width.
template <typename Return, typename Visit>
Return visit_numbers(const arrow::Array& array, Visit visit) {
  using arrow::Type;
  const arrow::ArrayData& data = *array.data();
  const uint8_t* from = data.buffers[1]->data();
  const auto values = [&]<typename T>(T) {
    return visit([from, &data](int64_t index) {
      return loaded_as<T>(from + static_cast<size_t>(data.offset + index) * sizeof(T));
    });
  };
  switch (array.type_id()) {
    case Type::BOOL:
      return visit([from, &data](int64_t index) { return arrow::bit_util::GetBit(from, data.offset + index); });
    case Type::UINT8: return values(uint8_t{});
    case Type::INT8: return values(int8_t{});
    case Type::UINT16: return values(uint16_t{});
    case Type::INT16: return values(int16_t{});
    case Type::UINT32: return values(uint32_t{});
    case Type::DATE32:
    case Type::TIME32:
    case Type::INT32: return values(int32_t{});
    case Type::UINT64: return values(uint64_t{});
    case Type::DATE64:
    case Type::TIME64:
    case Type::TIMESTAMP:
    case Type::DURATION:
    case Type::INT64: return values(int64_t{});
    case Type::HALF_FLOAT: return values(Float16{});
    case Type::FLOAT: return values(float{});
    case Type::DOUBLE: return values(double{});
    default: return unsupported(fmt::format("values of type {} are not converted", array.type()->ToString()));
  }
}

}  // namespace forebay
