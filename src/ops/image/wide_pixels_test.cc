#include "ops/image/wide_pixels.h"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

namespace forebay {
namespace {

TensorPixels wide_picture(int64_t height, int64_t width, int64_t channels, bool channels_first) {
  Tensor tensor = Tensor::allocate(DType::kUint16,
                                   channels_first ? Shape{channels, height, width} : Shape{height, width, channels});
  TensorPixels pixels{std::move(tensor), channels_first};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < channels; ++c)
        pixels.tensor.data<uint16_t>()[y * pixels.step_y() + x * pixels.step_x() + c * pixels.step_channel()] =
            static_cast<uint16_t>((y * 7919 + x * 104729 + c * 1299709) % 65536);
    }
  }
  return pixels;
}

TEST(WidePixels, a_resize_to_the_same_size_changes_nothing_and_the_layout_does_not_matter) {
  WorkMemory memory;
  const TensorPixels last = wide_picture(9, 7, 3, false), first = wide_picture(9, 7, 3, true);
  const auto same = resize_wide(last, 9, 7, memory);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(std::memcmp(same->buffer.data(), last.tensor.buffer.data(), same->buffer.size()), 0);
  const auto a = resize_wide(last, 4, 11, memory), b = resize_wide(first, 4, 11, memory);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(std::memcmp(a->buffer.data(), b->buffer.data(), a->buffer.size()), 0);
}

TEST(WidePixels, a_picture_of_one_value_keeps_it_at_any_size) {
  WorkMemory memory;
  for (const uint16_t value : {uint16_t{0}, uint16_t{257}, uint16_t{65535}}) {
    TensorPixels pixels = wide_picture(5, 6, 1, false);
    std::fill_n(pixels.tensor.data<uint16_t>(), 30, value);
    for (const int64_t side : {1, 3, 17}) {
      const auto made = resize_wide(pixels, side, side + 1, memory);
      ASSERT_TRUE(made.ok());
      const auto* values = reinterpret_cast<const uint16_t*>(made->buffer.data());
      EXPECT_TRUE(std::all_of(values, values + side * (side + 1), [&](uint16_t one) { return one == value; }));
    }
  }
}

TEST(WidePixels, memory_is_asked_for_before_it_is_taken) {
  WorkMemory little(100);
  const TensorPixels pixels = wide_picture(9, 7, 3, false);
  const float one[] = {1, 1, 1};
  EXPECT_EQ(resize_wide(pixels, 20, 20, little).status().code(), Code::kOutOfBudget);
  EXPECT_EQ(normalize_wide(pixels, one, one, little).status().code(), Code::kOutOfBudget);
}

}  // namespace
}  // namespace forebay
