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

/// A name and its bytes, both part of what they were read from.
using NamedValue = std::pair<std::string_view, std::span<const uint8_t>>;

/// Before each string of a run of named values stands its length, 4 bytes, little-endian.
constexpr size_t kNamedLength = 4;
inline void put_named_length(uint8_t* at, size_t length) {
  const auto written = static_cast<uint32_t>(length);
  std::memcpy(at, &written, sizeof written);
}

/// The pairs of a run: name, value, name, value, …, each behind its length. Corrupt where a length
/// leads beyond the end or a value is missing.
Result<std::vector<NamedValue>> named_values(std::span<const uint8_t> run);

/// The value of the last pair of that name; null where there is none.
const std::span<const uint8_t>* find_named(const std::vector<NamedValue>& values, std::string_view name);

/// A field's value from bytes: of text and bytes themselves, of a dtype without a shape its decimal
/// text, of one with a shape the elements end to end, little-endian. Shares the memory of `owner`
/// for text and bytes. Corrupt, with the field's name.
Result<Value> value_of_named(const Field& field, std::span<const uint8_t> bytes, const Buffer& owner);

}  // namespace forebay
