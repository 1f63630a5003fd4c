#include "ops/image/row_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "ops/image/cast_elements.h"
#include "ops/image/simd_level.h"

namespace forebay {
namespace {

constexpr DType kAllTypes[] = {DType::kBool,  DType::kUint8,   DType::kInt8,    DType::kUint16,
                               DType::kInt16, DType::kUint32,  DType::kInt32,   DType::kUint64,
                               DType::kInt64, DType::kFloat16, DType::kFloat32, DType::kFloat64};

PixelFormat format_of(DType dtype, int64_t channels, bool channels_first, bool scaled) {
  PixelFormat format;
  format.width = 7;
  format.height = 3;
  format.channels = channels;
  format.channels_first = channels_first;
  format.dtype = dtype;
  format.scaled = scaled;
  format.pointwise = {{0.25f, -1.5f, 3.0f, 0.5f}, {-7.0f, 200.0f, 0.5f, -60.0f}};
  return format;
}

uint8_t pixel_at(int64_t y, int64_t x, int64_t c) { return static_cast<uint8_t>(y * 83 + x * 31 + c * 7); }

std::vector<uint8_t> row_of(const PixelFormat& format, int64_t y) {
  const int64_t pitch = pixel_pitch(format.channels);
  std::vector<uint8_t> row(static_cast<size_t>(format.width * pitch + kRowSlack));
  for (int64_t x = 0; x < format.width; ++x)
    for (int64_t c = 0; c < format.channels; ++c) row[x * pitch + c] = pixel_at(y, x, c);
  return row;
}

// Converts each element separately.
std::vector<uint8_t> expected_bytes(const PixelFormat& format) {
  const size_t item = dtype_size(format.dtype);
  std::vector<uint8_t> out(static_cast<size_t>(format.width * format.height * format.channels) * item);
  for (int64_t y = 0; y < format.height; ++y) {
    for (int64_t x = 0; x < format.width; ++x) {
      for (int64_t c = 0; c < format.channels; ++c) {
        const int64_t place = format.channels_first ? (c * format.height + y) * format.width + x
                                                    : (y * format.width + x) * format.channels + c;
        uint8_t* const to = out.data() + static_cast<size_t>(place) * item;
        const uint8_t pixel = pixel_at(y, x, c);
        const float number = static_cast<float>(pixel) * format.pointwise.scale[c] + format.pointwise.bias[c];
        if (format.scaled) {
          cast_elements(DType::kFloat32, reinterpret_cast<const uint8_t*>(&number), format.dtype, to, 1);
        } else {
          cast_elements(DType::kUint8, &pixel, format.dtype, to, 1);
        }
      }
    }
  }
  return out;
}

class RowWriters : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, RowWriters, testing::ValuesIn(kAllTypes),
                         [](const auto& param) { return std::string(dtype_name(param.param)); });

TEST_P(RowWriters, put_each_pixel_in_its_place_in_any_layout_and_order_of_rows) {
  for (int64_t channels = 1; channels <= kMaxChannels; ++channels) {
    for (const bool channels_first : {false, true}) {
      for (const bool scaled : {false, true}) {
        const PixelFormat format = format_of(GetParam(), channels, channels_first, scaled);
        const std::vector<uint8_t> expected = expected_bytes(format);
        std::vector<uint8_t> out(expected.size(), 0xee);
        RowWriter writer(format, image_kernels(simd_level()), out);
        for (const int64_t y : {2, 0, 1}) writer.write(y, row_of(format, y).data());
        EXPECT_EQ(out, expected) << channels << " channels, " << (channels_first ? "first" : "last")
                                 << (scaled ? ", scaled" : "");
      }
    }
  }
}

TEST(row_writer, writes_no_row_but_the_one_it_is_given) {
  for (const DType dtype : {DType::kUint8, DType::kFloat32, DType::kInt16}) {
    for (const bool channels_first : {false, true}) {
      const PixelFormat format = format_of(dtype, 3, channels_first, false);
      std::vector<uint8_t> expected = expected_bytes(format), out(expected.size(), 0xee);
      RowWriter writer(format, image_kernels(simd_level()), out);
      writer.write(1, row_of(format, 1).data());
      const size_t row = static_cast<size_t>(format.width) * dtype_size(dtype);
      for (size_t i = 0; i < out.size(); ++i) {
        const size_t y = channels_first ? i / row % 3 : i / (row * 3);
        EXPECT_EQ(int{out[i]}, y == 1 ? int{expected[i]} : 0xee) << dtype_name(dtype) << " byte " << i;
      }
    }
  }
}

TEST(row_writer, books_its_time_to_the_step_it_was_told_and_leaves_the_meter_where_it_was) {
  const PixelFormat format = format_of(DType::kFloat32, 3, true, true);
  std::vector<uint8_t> out(expected_bytes(format).size());
  StepMeter meter;
  const int before = meter.current();
  RowWriter writer(format, image_kernels(simd_level()), out);
  writer.book(meter, 5);
  for (int64_t y = 0; y < 3; ++y) writer.write(y, row_of(format, y).data());
  EXPECT_EQ(meter.current(), before);
  EXPECT_EQ(out, expected_bytes(format));
}

}  // namespace
}  // namespace forebay
