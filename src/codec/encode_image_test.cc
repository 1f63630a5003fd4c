#include "codec/encode_image.h"

#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codec/image.h"

namespace forebay {
namespace {

Tensor noise(int64_t height, int64_t width, int64_t channels) {
  Tensor pixels = Tensor::allocate(DType::kUint8, {height, width, channels});
  std::mt19937 random(static_cast<uint32_t>(height * 1000 + width * 10 + channels));
  for (size_t i = 0; i < pixels.nbytes(); ++i) pixels.buffer.data()[i] = static_cast<uint8_t>(random());
  return pixels;
}

// One colour on the left, getting brighter to the right, which JPEG preserves well.
Tensor smooth(int64_t height, int64_t width, int64_t channels) {
  Tensor pixels = Tensor::allocate(DType::kUint8, {height, width, channels});
  uint8_t* out = pixels.buffer.data();
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < channels; ++c) *out++ = static_cast<uint8_t>((x + y + 30 * c) / 2 % 256);
  return pixels;
}

class Collected final : public RowSink {
 public:
  explicit Collected(size_t row_bytes) : row_bytes_(row_bytes) {}
  void row(const uint8_t* row) override { bytes.insert(bytes.end(), row, row + row_bytes_); }
  std::vector<uint8_t> bytes;

 private:
  const size_t row_bytes_;
};

std::vector<uint8_t> decoded(const Buffer& file, const Tensor& like) {
  const Result<ImageInfo> info = probe_image(file.span());
  if (!info.ok() || info->width() != like.shape[1] || info->height() != like.shape[0]) return {};
  Collected rows(static_cast<size_t>(like.shape[1] * like.shape[2]));
  const ColorMode mode = like.shape[2] == 1 ? ColorMode::kGray : ColorMode::kRgb;
  const Status status = decode_rows(file.span(), *info, {0, 0, info->width(), info->height()}, mode, rows);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return rows.bytes;
}

TEST(Encode, APngGivesBackEveryPixel) {
  for (const int64_t channels : {1, 3})
    for (const auto& [height, width] : {std::pair<int64_t, int64_t>{1, 1}, {7, 13}, {64, 64}, {1, 300}, {300, 1}}) {
      const Tensor pixels = noise(height, width, channels);
      const Result<Buffer> file = encode_png(pixels);
      ASSERT_TRUE(file.ok()) << file.status().to_string();
      EXPECT_EQ(decoded(*file, pixels),
                std::vector<uint8_t>(pixels.buffer.data(), pixels.buffer.data() + pixels.nbytes()));
      const Result<Buffer> again = encode_png(pixels);
      ASSERT_EQ(again->size(), file->size());
      EXPECT_EQ(std::memcmp(again->data(), file->data(), file->size()), 0);
    }
}

TEST(Encode, AJpegIsCloserTheBetterItsQuality) {
  for (const int64_t channels : {1, 3}) {
    const Tensor pixels = smooth(61, 93, channels);
    double before = 1e9;
    size_t bytes_before = 0;
    for (const int quality : {20, 75, 95}) {
      const Result<Buffer> file = encode_jpeg(pixels, quality);
      ASSERT_TRUE(file.ok()) << file.status().to_string();
      const std::vector<uint8_t> got = decoded(*file, pixels);
      ASSERT_EQ(got.size(), pixels.nbytes());
      double off = 0;
      for (size_t i = 0; i < got.size(); ++i) off += std::abs(double{0} + got[i] - pixels.buffer.data()[i]);
      EXPECT_LE(off, before) << quality;
      EXPECT_GE(file->size(), bytes_before) << quality;
      before = off, bytes_before = file->size();
    }
    EXPECT_LT(before / static_cast<double>(pixels.nbytes()), 2) << "levels of 256, on average";
  }
}

TEST(Encode, WhatIsNoPictureIsToldWithItsShape) {
  Tensor floats = Tensor::allocate(DType::kFloat32, {4, 4, 3});
  for (const Tensor& wrong :
       {noise(4, 4, 2), noise(4, 4, 4), noise(0, 4, 3), floats, Tensor::allocate(DType::kUint8, {4, 4})}) {
    for (const Result<Buffer>& file : {encode_png(wrong), encode_jpeg(wrong, 90)}) {
      EXPECT_EQ(file.status().code(), Code::kInvalidArgument);
      EXPECT_NE(file.status().to_string().find(wrong.shape.to_string()), std::string::npos);
    }
  }
  for (const int quality : {0, 101, -5})
    EXPECT_EQ(encode_jpeg(noise(2, 2, 3), quality).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(encode_jpeg(noise(1, 65'501, 1), 90).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
