#pragma once

#include <cstdint>
#include <optional>

#include "base/record.h"

namespace forebay {

constexpr bool is_whole(DType dtype) { return dtype < DType::kFloat16; }

/// The value of a single integer or bool. Empty for all other values, and for deferred ones. uint64
/// values of 2^63 or more wrap around.
std::optional<int64_t> whole_number(const Value& value);

}  // namespace forebay
