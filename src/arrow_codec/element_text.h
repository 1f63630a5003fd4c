#pragma once

#include <cstdint>
#include <string>

#include <arrow/type_fwd.h>

#include "forebay/status.h"

namespace forebay {

/// Appends an element of an array of bools, integers, floats or decimals as text: all digits of a
/// decimal, or the shortest text that reads back as the same float. Unsupported for other arrays.
Status append_text(const arrow::Array& array, int64_t index, std::string& out);

}  // namespace forebay
