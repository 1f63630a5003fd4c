#pragma once

#include <cstdint>
#include <optional>

#include "base/record.h"

namespace forebay {

constexpr bool is_whole(DType dtype) { return dtype < DType::kFloat16; }

/// The value of a single whole number or bool; nothing for all others, and for deferred ones. uint64 from 2^63 on wrap around.
std::optional<int64_t> whole_number(const Value& value);

}  // namespace forebay
