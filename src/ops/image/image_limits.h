#pragma once

#include <cstdint>
#include <span>

#include "codec/image.h"

namespace forebay {

/// Unsupported for a picture of more than `max_pixels`, and for sides that are not handled.
Status check_within(int64_t stored_width, int64_t stored_height, int64_t max_pixels);
/// Like probe_image() and check_within().
Result<ImageInfo> probe_within(std::span<const uint8_t> bytes, int64_t max_pixels);

}  // namespace forebay
