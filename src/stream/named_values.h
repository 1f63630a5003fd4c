#pragma once

#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/record.h"
#include "base/schema.h"
#include "forebay/result.h"

namespace forebay {

/// A name and its bytes, both part of the memory that they were read from.
using NamedValue = std::pair<std::string_view, std::span<const uint8_t>>;

/// Named values are strings one after another. Each is preceded by its length: 4 bytes,
/// little-endian.
constexpr size_t kNamedLength = 4;
inline void put_named_length(uint8_t* at, size_t length) {
  const auto written = static_cast<uint32_t>(length);
  std::memcpy(at, &written, sizeof written);
}

/// Reads the pairs of a run (name, value, name, value, …), each preceded by its length. Corrupt if
/// a length leads beyond the end or a value is missing.
Result<std::vector<NamedValue>> named_values(std::span<const uint8_t> run);

/// The value of the last pair of that name; null if there is none.
const std::span<const uint8_t>* find_named(const std::vector<NamedValue>& values, std::string_view name);

/// Makes the value of a field from bytes. Text and bytes are taken as they are. A dtype without a
/// shape is read as decimal text; a dtype with a shape as its elements end to end, little-endian.
/// Text and bytes share the memory of `owner`. Errors are Corrupt and name the field.
Result<Value> value_of_named(const Field& field, std::span<const uint8_t> bytes, const Buffer& owner);

}  // namespace forebay
