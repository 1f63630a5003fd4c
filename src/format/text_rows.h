#pragma once

#include <cstdint>
#include <span>

#include "forebay/buffer.h"
#include "forebay/dtype.h"
#include "forebay/result.h"

namespace forebay {

/// Converts one zero-padded text of a NumPy array. Bytes (kUint8, dtype S) are taken as they are;
/// code points (kUint32, dtype U) become UTF-8. Code points with which Python escapes bytes that
/// are not UTF-8 become those bytes again. Unsupported for a number that is not a character.
Result<Buffer> text_of_row(std::span<const uint8_t> row, DType dtype);

}  // namespace forebay
