#include "ops/image/pixel_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "codec/jpeg_test_encoder.h"
#include "codec/orientation.h"

namespace forebay {
namespace {

using codec_test::Frame;
using Bytes = std::vector<uint8_t>;

Tensor numbered_pixels(const Shape& shape) {
  Tensor tensor = Tensor::allocate(DType::kUint8, shape);
  for (size_t i = 0; i < tensor.nbytes(); ++i) tensor.data<uint8_t>()[i] = static_cast<uint8_t>(i * 31 % 253);
  return tensor;
}

uint8_t pixel_of(const TensorPixels& from, int64_t y, int64_t x, int64_t c) {
  return from.tensor.data<uint8_t>()[y * from.step_y() + x * from.step_x() + c * from.step_channel()];
}

// Rows of the part, packed. Frame also reads the bytes that may be read past each row.
Bytes read_part(const PixelSource& source, const Rect& part) {
  Frame frame(part.width * source.channels(), ColorMode::kGray);
  WorkMemory memory;
  const Status status = source.read(part, frame, memory, 0);
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(frame.rows, part.height);
  return frame.pixels;
}

TEST(pixel_source, gives_any_part_of_a_tensor_in_any_order_of_axes) {
  const TensorPixels pictures[] = {{numbered_pixels({5, 7, 3}), false},
                                   {numbered_pixels({3, 5, 7}), true},
                                   {numbered_pixels({5, 7}), false},
                                   {numbered_pixels({5, 7, 1}), false},
                                   {numbered_pixels({4, 5, 7}), true}};
  for (const TensorPixels& picture : pictures) {
    const PixelSource source(picture);
    ASSERT_EQ(source.height(), 5);
    ASSERT_EQ(source.width(), 7);
    for (int64_t y = 0; y < 5; ++y) {
      for (int64_t x = 0; x < 7; ++x) {
        for (const int64_t height : {int64_t{1}, 5 - y}) {
          for (const int64_t width : {int64_t{1}, 7 - x}) {
            Bytes expected;
            for (int64_t row = y; row < y + height; ++row)
              for (int64_t column = x; column < x + width; ++column)
                for (int64_t c = 0; c < source.channels(); ++c) expected.push_back(pixel_of(picture, row, column, c));
            ASSERT_EQ(read_part(source, {x, y, width, height}), expected)
                << picture.tensor.shape.to_string() << " from " << x << ", " << y;
          }
        }
      }
    }
  }
}

TEST(pixel_source, says_of_a_tensor_what_it_is) {
  const PixelSource planar(TensorPixels{Tensor::allocate(DType::kFloat32, {3, 5, 7}), true});
  EXPECT_EQ(planar.channels(), 3);
  EXPECT_EQ(planar.dtype(), DType::kFloat32);
  ASSERT_NE(planar.pixels(), nullptr);
  EXPECT_EQ(planar.pixels()->step_x(), 1);
  EXPECT_EQ(planar.pixels()->step_y(), 7);
  EXPECT_EQ(planar.pixels()->step_channel(), 35);
  const PixelSource flat(TensorPixels{Tensor::allocate(DType::kUint8, {5, 7}), true});
  EXPECT_EQ(flat.channels(), 1) << "two axes have no channels that could come first";
  EXPECT_EQ(flat.height(), 5);
}

EncodedPixels encoded_jpeg(int orientation, ColorMode mode) {
  const codec_test::Blob file = codec_test::encode_jpeg(40, 24, {});
  Buffer bytes = Buffer::allocate(file.size());
  std::copy(file.begin(), file.end(), bytes.data());
  auto info = probe_image(file);
  EXPECT_TRUE(info.ok());
  info->orientation = orientation;
  return {bytes, *info, mode};
}

class PhotographsOfOrientation : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, PhotographsOfOrientation, testing::Range(1, 9));

// The requested part equals the same part of the whole picture, decoded and rotated separately.
TEST_P(PhotographsOfOrientation, any_part_is_that_of_the_upright_picture) {
  for (const ColorMode mode : {ColorMode::kRgb, ColorMode::kGray}) {
    const int depth = channels(mode);
    const EncodedPixels encoded = encoded_jpeg(GetParam(), mode);
    const PixelSource source(encoded);
    const bool turned = GetParam() >= 5;
    ASSERT_EQ(source.width(), turned ? 24 : 40);
    ASSERT_EQ(source.height(), turned ? 40 : 24);
    const Bytes stored = codec_test::decode({encoded.bytes.data(), encoded.bytes.data() + encoded.bytes.size()},
                                            encoded.info, {0, 0, 40, 24}, mode)
                             .pixels;
    ASSERT_EQ(stored.size(), static_cast<size_t>(40 * 24 * depth));
    Bytes upright(stored.size());
    orient_pixels(stored.data(), 40, 24, depth, GetParam(), upright.data());
    for (const Rect& part : {Rect{0, 0, source.width(), source.height()}, Rect{3, 5, 8, 11}, Rect{23, 0, 1, 24},
                             Rect{0, 23, 24, 1}, Rect{7, 9, 1, 1}}) {
      Bytes expected;
      for (int64_t y = part.y; y < part.y + part.height; ++y) {
        const auto begin = upright.begin() + (y * source.width() + part.x) * depth;
        expected.insert(expected.end(), begin, begin + part.width * depth);
      }
      EXPECT_EQ(read_part(source, part), expected) << part.x << ", " << part.y;
    }
  }
}

TEST_P(PhotographsOfOrientation, damage_is_told_as_that_of_decode_image) {
  EncodedPixels encoded = encoded_jpeg(GetParam(), ColorMode::kRgb);
  encoded.bytes = encoded.bytes.slice(0, encoded.bytes.size() / 2);
  const PixelSource source(encoded);
  Frame frame(source.width(), ColorMode::kRgb);
  WorkMemory memory;
  const Status status = source.read({0, 0, source.width(), source.height()}, frame, memory, 0);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_EQ(status.op(), "decode_image");
}

TEST(pixel_source, a_turned_picture_takes_memory_for_its_part_twice_and_an_upright_one_does_not) {
  const PixelSource upright(encoded_jpeg(1, ColorMode::kRgb)), turned(encoded_jpeg(3, ColorMode::kRgb));
  const Rect whole = {0, 0, 40, 24};
  EXPECT_GE(turned.working_bytes(whole), upright.working_bytes(whole) + 2 * 40 * 24 * 3);
  const PixelSource tensor(TensorPixels{numbered_pixels({24, 40, 3}), false});
  EXPECT_LT(tensor.working_bytes(whole), 2 * 40 * 3 + 128u) << "a row, not the picture";
}

}  // namespace
}  // namespace forebay
