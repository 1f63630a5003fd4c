#pragma once

#include <cstdint>
#include <span>

#include "codec/image.h"

namespace forebay {

/// Like probe_image(); Unsupported also for pictures of more than `max_pixels`, and for sides that
/// are not handled.
Result<ImageInfo> probe_within(std::span<const uint8_t> bytes, int64_t max_pixels);

}  // namespace forebay
