#include "ops/image/patches.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace forebay {

namespace {

// The slots before it are those of LazyImage.
constexpr int kPictureSlot = 3;
// As in smart_resize(): longer strips would have less than one patch across.
constexpr int64_t kLongestProportion = 200;

}  // namespace

Result<PatchGrid> PatchLayout::grid_of(int64_t height, int64_t width) const {
  const int64_t longer = std::max(height, width), shorter = std::min(height, width);
  if (shorter < 1 || longer > shorter * kLongestProportion) {
    return unsupported(fmt::format("{} × {} pixels: one side is more than {} times as long as the other; crop it",
                                   width, height, kLongestProportion));
  }
  const int64_t side = patch * merge;
  const auto factor = static_cast<double>(side);
  const auto h = static_cast<double>(height), w = static_cast<double>(width);
  const auto at_least_one = [](double groups) { return std::max<int64_t>(static_cast<int64_t>(groups), 1); };
  // Python's round() and nearbyint() both round halves to even.
  int64_t down = static_cast<int64_t>(std::nearbyint(h / factor));
  int64_t across = static_cast<int64_t>(std::nearbyint(w / factor));
  // Not the product of whole numbers, which could overflow.
  const double pixels = static_cast<double>(down) * factor * (static_cast<double>(across) * factor);
  if (pixels > static_cast<double>(max_pixels)) {
    const double beta = std::sqrt(h * w / static_cast<double>(max_pixels));
    down = at_least_one(std::floor(h / beta / factor));
    across = at_least_one(std::floor(w / beta / factor));
  } else if (pixels < static_cast<double>(min_pixels)) {
    const double beta = std::sqrt(static_cast<double>(min_pixels) / (h * w));
    down = at_least_one(std::ceil(h * beta / factor));
    across = at_least_one(std::ceil(w * beta / factor));
  }
  return PatchGrid{down * merge, across * merge};
}

Shape CutPicture::shape() const { return {grid_.count(), channels() * layout_.patch * layout_.patch}; }

Status CutPicture::write(std::span<uint8_t> out, WorkMemory& memory) {
  FOREBAY_RETURN_IF_ERROR(memory.reserve(out.size()));
  const std::span<uint8_t> pixels = memory.scratch(kPictureSlot, out.size()).first(out.size());
  FOREBAY_RETURN_IF_ERROR(picture_->write(pixels, memory));
  const StepSpan span(memory.meter(), step_);
  cut(pixels.data(), out.data());
  memory.release(out.size());
  return {};
}

void CutPicture::cut(const uint8_t* pixels, uint8_t* out) const {
  const int64_t merge = layout_.merge;
  for (int64_t top = 0; top < grid_.rows; top += merge) {
    for (int64_t left = 0; left < grid_.columns; left += merge) {
      for (int64_t i = 0; i < merge * merge; ++i) out = cut_patch(pixels, top + i / merge, left + i % merge, out);
    }
  }
}

uint8_t* CutPicture::cut_patch(const uint8_t* pixels, int64_t row, int64_t column, uint8_t* out) const {
  const int64_t patch = layout_.patch, item = static_cast<int64_t>(dtype_size(dtype()));
  const int64_t line = grid_.columns * patch * item, plane = grid_.rows * patch * line;
  const auto bytes = static_cast<size_t>(patch * item);
  for (int64_t c = 0; c < channels(); ++c) {
    const uint8_t* from = pixels + c * plane + row * patch * line + column * patch * item;
    for (int64_t y = 0; y < patch; ++y, from += line, out += bytes) std::memcpy(out, from, bytes);
  }
  return out;
}

}  // namespace forebay
