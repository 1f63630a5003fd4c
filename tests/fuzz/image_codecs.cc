// An encoded image from a stranger: it is refused with a reason or decoded, whole and in part, to the same pixels, with no
// more memory than a picture of a few megapixels needs.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "codec/image.h"

namespace {

using namespace forebay;

constexpr int64_t kMaxPixels = 1 << 21;
constexpr uint64_t kMaxWorkingBytes = uint64_t{256} << 20;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

class Frame : public RowSink {
 public:
  explicit Frame(int64_t row_bytes) : row_bytes_(row_bytes) {}
  void row(const uint8_t* row) override { pixels.insert(pixels.end(), row, row + row_bytes_); }
  std::vector<uint8_t> pixels;

 private:
  int64_t row_bytes_;
};

/// A crop that the input itself chooses.
Rect choose_crop(const ImageInfo& info, const uint8_t* data, size_t size) {
  uint32_t seed = 2166136261u;
  for (size_t i = 0; i < size; ++i) seed = (seed ^ data[i]) * 16777619u;
  const auto pick = [&seed](int64_t below) {
    seed = seed * 1664525u + 1013904223u;
    return static_cast<int64_t>((seed >> 8) % static_cast<uint64_t>(below));
  };
  Rect crop;
  crop.x = pick(info.stored_width);
  crop.y = pick(info.stored_height);
  crop.width = 1 + pick(info.stored_width - crop.x);
  crop.height = 1 + pick(info.stored_height - crop.y);
  return crop;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  const auto info = probe_image(bytes);
  if (!info.ok()) {
    require(!info.status().message().empty(), "a refusal has a reason");
    return 0;
  }
  const Rect whole = {0, 0, info->stored_width, info->stored_height};
  if (info->pixels() > kMaxPixels) return 0;
  for (const ColorMode mode : {ColorMode::kRgb, ColorMode::kGray}) {
    if (decode_working_bytes(*info, whole, mode) > kMaxWorkingBytes) return 0;
    const Rect crop = choose_crop(*info, data, size);
    Frame full(whole.width * channels(mode)), part(crop.width * channels(mode));
    const Status full_status = decode_rows(bytes, *info, whole, mode, full);
    const Status part_status = decode_rows(bytes, *info, crop, mode, part);
    if (!full_status.ok()) continue;  // the damage may be outside the crop
    require(part_status.ok(), "a part of a whole picture can be decoded");
    for (int64_t y = 0; y < crop.height; ++y) {
      const auto row_bytes = static_cast<size_t>(crop.width * channels(mode));
      const uint8_t* from = full.pixels.data() + ((crop.y + y) * whole.width + crop.x) * channels(mode);
      require(std::memcmp(part.pixels.data() + static_cast<size_t>(y) * row_bytes, from, row_bytes) == 0,
              "a part has the pixels of the whole");
    }
  }
  return 0;
}
