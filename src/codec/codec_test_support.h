#pragma once

// Helpers for tests of this folder: images in memory, files of the shared data, and synthetic
// images.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codec/image.h"

namespace forebay::codec_test {

using Blob = std::vector<uint8_t>;

/// Stores the rows. It reads the slack of each row, so that sanitizers detect a row that is too
/// short.
class Frame : public RowSink {
 public:
  Frame(int64_t width, ColorMode mode) : row_bytes_(width * pixel_bytes(mode)) {}
  void row(const uint8_t* row) override {
    pixels.insert(pixels.end(), row, row + row_bytes_);
    for (int i = 0; i < 64; ++i) slack_ = slack_ ^ row[row_bytes_ + i];
    ++rows;
  }
  Blob pixels;
  int64_t rows = 0;

 private:
  int64_t row_bytes_;
  volatile uint8_t slack_ = 0;
};

inline Rect whole(const ImageInfo& info) { return {0, 0, info.stored_width, info.stored_height}; }

struct Decoded {
  Status status;
  Blob pixels;
};

inline Decoded decode(const Blob& bytes, const ImageInfo& info, const Rect& crop, ColorMode mode = ColorMode::kRgb) {
  Frame frame(crop.width, mode);
  Decoded decoded{decode_rows(bytes, info, crop, mode, frame), {}};
  if (decoded.status.ok()) {
    EXPECT_EQ(frame.rows, crop.height);
  }
  decoded.pixels = std::move(frame.pixels);
  return decoded;
}

/// Probes and fully decodes an image. Images over 50 million pixels are refused.
inline Decoded decode_all(const Blob& bytes, ColorMode mode = ColorMode::kRgb) {
  const auto info = probe_image(bytes);
  if (!info.ok()) return {info.status(), {}};
  if (info->pixels() > 50'000'000) return {unsupported("large"), {}};
  return decode(bytes, *info, whole(*info), mode);
}

/// Cuts the crop out of a full decode.
inline Blob cut(const Blob& pixels, int64_t width, const Rect& crop, ColorMode mode = ColorMode::kRgb) {
  const int64_t size = channels(mode);
  Blob out;
  for (int64_t y = crop.y; y < crop.y + crop.height; ++y) {
    const auto from = pixels.begin() + (y * width + crop.x) * size;
    out.insert(out.end(), from, from + crop.width * size);
  }
  return out;
}

inline Rect random_crop(std::mt19937& random, int64_t width, int64_t height) {
  const auto part = [&](int64_t side) {
    std::uniform_int_distribution<int64_t> any(0, side - 1);
    int64_t a = any(random), b = any(random);
    // Half of the crops are small, so that their edges are close to each other.
    if (random() % 2 == 0) b = std::min(side - 1, a + static_cast<int64_t>(random() % 20));
    return std::pair(std::min(a, b), std::max(a, b) - std::min(a, b) + 1);
  };
  const auto [x, w] = part(width);
  const auto [y, h] = part(height);
  return {x, y, w, h};
}

/// Expects random crops to equal the pixels of the full decode.
inline void expect_crops_equal_full_decode(const Blob& bytes, int crops, uint32_t seed, const std::string& name) {
  const auto info = probe_image(bytes);
  ASSERT_TRUE(info.ok()) << name << ": " << info.status().to_string();
  std::mt19937 random(seed);
  for (const ColorMode mode : {ColorMode::kRgb, ColorMode::kGray}) {
    const Decoded full = decode(bytes, *info, whole(*info), mode);
    ASSERT_TRUE(full.status.ok()) << name << ": " << full.status.to_string();
    for (int i = 0; i < (mode == ColorMode::kRgb ? crops : crops / 4); ++i) {
      const Rect crop = random_crop(random, info->stored_width, info->stored_height);
      const Decoded part = decode(bytes, *info, crop, mode);
      ASSERT_TRUE(part.status.ok()) << name << ": " << part.status.to_string();
      ASSERT_TRUE(part.pixels == cut(full.pixels, info->stored_width, crop, mode))
          << name << ": crop " << crop.width << "x" << crop.height << " at " << crop.x << "," << crop.y << " of "
          << info->stored_width << "x" << info->stored_height;
    }
  }
}

inline Blob read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return Blob(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

inline std::filesystem::path shared_data() {
  const char* set = std::getenv("FOREBAY_SHARED");
  const std::filesystem::path root = set ? set : std::string(FOREBAY_SOURCE_DIR) + "/../shared";
  return root / "data";
}

#define FOREBAY_NEED_SHARED_DATA()                                    \
  if (!std::filesystem::exists(::forebay::codec_test::shared_data())) \
  GTEST_SKIP() << "SHARED DATA ABSENT: " << ::forebay::codec_test::shared_data()

/// All files below these folders of the shared data, sorted by path.
inline std::vector<std::filesystem::path> files_below(const std::vector<std::string>& folders) {
  std::vector<std::filesystem::path> files;
  for (const std::string& folder : folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(shared_data() / folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// A picture with smooth parts, edges and noise.
inline Blob test_pixels(int64_t width, int64_t height, int channels, uint32_t seed) {
  std::mt19937 random(seed);
  Blob pixels;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int64_t smooth = (x * (c + 2) + y * (3 - c)) / 3;
        const int64_t edge = ((x / 13 + y / 9) % 2) * 60;
        pixels.push_back(static_cast<uint8_t>(smooth + edge + static_cast<int64_t>(random() % 24)));
      }
    }
  }
  return pixels;
}

}  // namespace forebay::codec_test
