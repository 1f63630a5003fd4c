#include "ops/image/image_limits.h"

#include <algorithm>

#include <fmt/format.h>

namespace forebay {

namespace {
// Positions in a row are stored in 32 bits.
constexpr int64_t kMaxStoredSide = int64_t{1} << 28;
}  // namespace

Result<ImageInfo> probe_within(std::span<const uint8_t> bytes, int64_t max_pixels) {
  FOREBAY_ASSIGN(const ImageInfo info, probe_image(bytes));
  if (std::max(info.stored_width, info.stored_height) > kMaxStoredSide) {
    return unsupported(fmt::format("{} × {} pixels; sides of up to {} are handled", info.stored_width,
                                   info.stored_height, kMaxStoredSide));
  }
  // Divides instead of multiplying, because the header may contain any number.
  if (info.stored_width > max_pixels / std::max<int64_t>(info.stored_height, 1)) {
    return unsupported(fmt::format("{} × {} pixels are more than max_pixels={}; raise max_pixels to decode it",
                                   info.stored_width, info.stored_height, max_pixels));
  }
  return info;
}

}  // namespace forebay
