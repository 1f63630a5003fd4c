#pragma once

#include <cstdint>
#include <span>

#include "forebay/buffer.h"
#include "forebay/dtype.h"
#include "forebay/result.h"

namespace forebay {

/// One text as NumPy's arrays hold it, characters filled up with zeros: bytes (kUint8, dtype S), which are taken as they are, or code points (kUint32,
/// dtype U), which become UTF-8. Code points that Python puts in the place of bytes that were no UTF-8 become those bytes again.
/// Unsupported for what is no character.
Result<Buffer> text_of_row(std::span<const uint8_t> row, DType dtype);

}  // namespace forebay
