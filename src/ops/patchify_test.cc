#include <gtest/gtest.h>

#include "ops/image/patches.h"
#include "ops/ops_test_support.h"

namespace forebay::ops_test {
namespace {

struct Fitted {
  int64_t height, width, rows, columns;
};

// Computed by smart_resize() of transformers' Qwen2-VL, with factor 28 and its limits.
constexpr Fitted kFitted[] = {{28, 28, 4, 4},       {42, 70, 4, 4},       {56, 56, 4, 4},         {1, 1, 4, 4},
                              {10, 2000, 2, 58},    {1000, 5, 58, 2},     {224, 224, 16, 16},     {480, 640, 34, 46},
                              {1080, 1920, 52, 94}, {4000, 6000, 58, 86}, {20000, 20000, 70, 70}, {333, 501, 24, 36},
                              {70, 98, 4, 8},       {3000, 15, 214, 2}};

TEST(Patchify, grids_are_those_of_smart_resize) {
  const PatchLayout layout{.patch = 14, .merge = 2, .min_pixels = 56 * 56, .max_pixels = 28 * 28 * 1280};
  for (const Fitted& one : kFitted) {
    EXPECT_EQ(layout.grid_of(one.height, one.width).value(), (PatchGrid{one.rows, one.columns}))
        << one.height << " " << one.width;
  }
}

TEST(Patchify, long_strips_are_unsupported) {
  const PatchLayout layout;
  EXPECT_TRUE(layout.grid_of(3, 600).ok());
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>(3, 601), {601, 3}, {0, 5}}) {
    const Status status = layout.grid_of(height, width).status();
    EXPECT_EQ(status.code(), Code::kUnsupported) << height << " " << width;
  }
  EXPECT_NE(layout.grid_of(3, 601).status().message().find("601 × 3 pixels"), std::string::npos);
}

/// The value at a place of the patches of `pixels`, (height, width, channels).
uint8_t expected_at(const Tensor& pixels, int64_t patch, int64_t row, int64_t column, int64_t i) {
  const int64_t c = i / (patch * patch), y = row * patch + i / patch % patch, x = column * patch + i % patch;
  return pixels.buffer.data()[(y * pixels.shape[1] + x) * pixels.shape[2] + c];
}

TEST(Patchify, groups_of_neighbours_are_consecutive_and_channels_apart) {
  const Tensor pixels = picture(12, 18, 3);
  const Tensor patches = run_picture(pixels, {step("patchify", {{"patch", 3}, {"merge", 2}, {"min_pixels", 36}})});
  ASSERT_EQ(patches.shape, (Shape{24, 27}));
  for (int64_t n = 0; n < 24; ++n) {
    const int64_t group = n / 4, row = group / 3 * 2 + n % 4 / 2, column = group % 3 * 2 + n % 2;
    for (int64_t i = 0; i < 27; ++i)
      ASSERT_EQ(patches.buffer.data()[n * 27 + i], expected_at(pixels, 3, row, column, i)) << n << " " << i;
  }
}

TEST(Patchify, computing_the_picture_before_changes_nothing) {
  const std::vector<OpSpec> steps = {step("normalize", {{"mean", {0.4, 0.5, 0.6}}, {"std", {0.2, 0.3, 0.4}}}),
                                     step("patchify", {{"patch", 14}})};
  for (const int64_t width : {28, 75, 140}) {
    const Tensor pixels = picture(60, width, 3);
    EXPECT_EQ(blob(run_picture(pixels, steps)), blob(run_picture(pixels, steps, {.materialize_each = true}))) << width;
  }
}

TEST(Patchify, the_schema_knows_the_patches_of_pictures_of_one_size) {
  const auto after = [](Shape shape) {
    Field field = tensor_field("image", DType::kUint8, shape);
    field.image = true;
    return schema_after(Schema({field}), {step("patchify", {{"patch", 14}, {"merge", 2}})}).to_string();
  };
  EXPECT_EQ(after({56, 84, 3}), "patches: uint8 (24, 588), grid: int32 (2,)");
  EXPECT_EQ(after({Shape::kUnknown, 84, 1}), "patches: uint8 (?, 196), grid: int32 (2,)");
  EXPECT_EQ(after({56, 84}), "patches: uint8 (24, 196), grid: int32 (2,)");
  EXPECT_EQ(after({Shape::kUnknown, 56, 84, 3}), "patches: uint8 (?, 588), grid: int32 (?, 2)") << "a list of pictures";
}

TEST(Patchify, memory_is_reserved_before_it_is_taken) {
  Record record = record_of(picture(60, 75, 3));
  const Status status = run(Schema({picture_field()}), {step("patchify", {{"patch", 14}})}, record, {.grant = 100});
  EXPECT_EQ(status.code(), Code::kOutOfBudget) << status.to_string();
}

}  // namespace
}  // namespace forebay::ops_test
