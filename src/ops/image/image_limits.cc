#include "ops/image/image_limits.h"

#include <algorithm>

#include <fmt/format.h>

namespace forebay {

namespace {
// Positions in a row are stored in 32 bits.
constexpr int64_t kMaxStoredSide = int64_t{1} << 28;
}  // namespace

Status check_within(int64_t stored_width, int64_t stored_height, int64_t max_pixels) {
  if (std::min(stored_width, stored_height) < 1 || std::max(stored_width, stored_height) > kMaxStoredSide) {
    return unsupported(
        fmt::format("{} × {} pixels; sides of 1 to {} are handled", stored_width, stored_height, kMaxStoredSide));
  }
  // Divides instead of multiplying, because the header may contain any number.
  if (stored_width > max_pixels / stored_height) {
    return unsupported(fmt::format("{} × {} pixels are more than max_pixels={}; raise max_pixels to decode it",
                                   stored_width, stored_height, max_pixels));
  }
  return {};
}

Result<ImageInfo> probe_within(std::span<const uint8_t> bytes, int64_t max_pixels) {
  FOREBAY_ASSIGN(const ImageInfo info, probe_image(bytes));
  FOREBAY_RETURN_IF_ERROR(check_within(info.stored_width, info.stored_height, max_pixels));
  return info;
}

}  // namespace forebay
