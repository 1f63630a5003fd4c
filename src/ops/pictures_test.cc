// Compares operators on pictures with simple loops that compute each pixel from the definition.

#include <gtest/gtest.h>

#include <cmath>

#include "ops/ops_test_support.h"

namespace forebay::ops_test {
namespace {

/// A simple picture: height × width × channels of numbers.
struct Plain {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<double> values;

  double at(int64_t y, int64_t x, int64_t c) const {
    if (y < 0 || y >= height || x < 0 || x >= width) return 0;
    return values[static_cast<size_t>((y * width + x) * channels + c)];
  }
};

Plain plain(const Tensor& tensor) {
  Plain made{tensor.shape[0], tensor.shape[1], tensor.shape[2], {}};
  for (size_t i = 0; i < tensor.nbytes(); ++i) made.values.push_back(tensor.data<uint8_t>()[i]);
  return made;
}

template <typename Value>
Plain reckoned(int64_t height, int64_t width, int64_t channels, Value value) {
  Plain made{height, width, channels, {}};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < channels; ++c) made.values.push_back(value(y, x, c));
    }
  }
  return made;
}

Plain cropped(const Plain& from, int64_t top, int64_t left, int64_t height, int64_t width) {
  return reckoned(height, width, from.channels,
                  [&](int64_t y, int64_t x, int64_t c) { return from.at(top + y, left + x, c); });
}
Plain mirrored(const Plain& from) {
  return reckoned(from.height, from.width, from.channels,
                  [&](int64_t y, int64_t x, int64_t c) { return from.at(y, from.width - 1 - x, c); });
}

void expect_pixels(const Tensor& made, const Plain& expected, const std::string& what) {
  ASSERT_EQ(made.shape, (Shape{expected.height, expected.width, expected.channels})) << what;
  for (size_t i = 0; i < expected.values.size(); ++i)
    ASSERT_EQ(made.data<uint8_t>()[i], expected.values[i]) << what << " at " << i;
}

/// The start of a crop by Python's round(). A larger crop surrounds the picture, with the odd zero
/// on the far side.
int64_t middle(int64_t side, int64_t crop) {
  if (crop > side) return -((crop - side) / 2);
  const int64_t twice = side - crop;
  return twice % 2 == 0 ? twice / 2 : twice / 2 + (twice / 2 % 2);
}

TEST(pictures, center_crops_of_any_size_are_the_middle_or_zeros_around_it) {
  for (const auto& [height, width] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {5, 8}, {8, 5}, {9, 9}}) {
    for (const int64_t crop_height : {1, 4, 5, 12}) {
      for (const int64_t crop_width : {1, 3, 8, 13}) {
        for (const int64_t channels : {1, 3, 4}) {
          const Tensor source = picture(height, width, channels);
          expect_pixels(
              run_picture(source, {step("center_crop", {{"n", {crop_height, crop_width}}})}),
              cropped(plain(source), middle(height, crop_height), middle(width, crop_width), crop_height, crop_width),
              std::to_string(height) + "x" + std::to_string(width) + " to " + std::to_string(crop_height) + "x" +
                  std::to_string(crop_width));
        }
      }
    }
  }
}

TEST(pictures, a_flip_that_is_sure_mirrors_and_one_that_is_not_there_does_nothing) {
  for (const auto& [height, width] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {1, 7}, {4, 1}, {6, 31}, {3, 64}}) {
    for (const int64_t channels : {1, 2, 3, 4}) {
      const Tensor source = picture(height, width, channels);
      expect_pixels(run_picture(source, {step("random_flip", {{"p", 1.0}})}), mirrored(plain(source)), "mirrored");
      expect_pixels(run_picture(source, {step("random_flip", {{"p", 0.0}})}), plain(source), "as it was");
      expect_pixels(run_picture(source, {step("random_flip", {{"p", 1.0}}), step("random_flip", {{"p", 1.0}})}),
                    plain(source), "twice");
    }
  }
}

TEST(pictures, a_random_crop_is_a_part_of_the_picture_as_it_is) {
  const Tensor source = picture(12, 17, 3);
  const Plain whole = plain(source);
  for (int64_t id = 0; id < 30; ++id) {
    const Tensor made = run_picture(source, {step("random_crop", {{"n", {5, 6}}})}, {.key = {.seed = 1, .id = id}});
    int64_t found = 0;
    for (int64_t y = 0; y <= 12 - 5; ++y) {
      for (int64_t x = 0; x <= 17 - 6; ++x) {
        const Plain part = cropped(whole, y, x, 5, 6);
        found += std::equal(part.values.begin(), part.values.end(), made.data<uint8_t>());
      }
    }
    EXPECT_EQ(found, 1) << id;
  }
  expect_pixels(run_picture(source, {step("random_crop", {{"n", {12, 17}}})}), whole, "all of it");
}

TEST(pictures, nearest_takes_the_pixel_under_the_middle) {
  // The sides are odd, so no centre falls between two pixels, where Pillow's rounding errors would
  // decide.
  for (const auto& [height, width] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {7, 5}, {15, 9}}) {
    for (const auto& [to_height, to_width] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 4}, {7, 5}, {20, 33}}) {
      const Tensor source = picture(height, width, 3);
      const Plain from = plain(source);
      const auto under = [](int64_t i, int64_t to, int64_t had) {
        return static_cast<int64_t>(
            std::floor((static_cast<double>(i) + 0.5) * static_cast<double>(had) / static_cast<double>(to)));
      };
      expect_pixels(
          run_picture(source, {step("resize", {{"size", {to_height, to_width}}, {"interpolation", "nearest"}})}),
          reckoned(to_height, to_width, 3,
                   [&, h = height, w = width, th = to_height, tw = to_width](int64_t y, int64_t x, int64_t c) {
                     return from.at(under(y, th, h), under(x, tw, w), c);
                   }),
          "nearest");
    }
  }
}

TEST(pictures, a_picture_of_one_colour_stays_so_at_any_size) {
  for (const int level : {0, 1, 127, 254, 255}) {
    Tensor flat = Tensor::allocate(DType::kUint8, {13, 9, 3});
    std::fill_n(flat.data<uint8_t>(), flat.nbytes(), static_cast<uint8_t>(level));
    for (const int64_t size : {1, 2, 7, 40}) {
      for (const char* interpolation : {"bilinear", "nearest"}) {
        const Tensor made = run_picture(flat, {step("resize", {{"size", size}, {"interpolation", interpolation}})});
        for (size_t i = 0; i < made.nbytes(); ++i) ASSERT_EQ(made.data<uint8_t>()[i], level) << size << interpolation;
      }
    }
  }
}

TEST(pictures, a_resize_never_leaves_the_range_of_what_it_was_made_of) {
  Tensor steps = Tensor::allocate(DType::kUint8, {40, 40, 1});
  for (int64_t i = 0; i < 1600; ++i) steps.data<uint8_t>()[i] = (i / 40 / 10 + i % 40 / 10) % 2 == 0 ? 100 : 150;
  for (const int64_t size : {1, 3, 17, 39, 41, 77, 160}) {
    const Tensor made = run_picture(steps, {step("resize", {{"size", size}})});
    for (size_t i = 0; i < made.nbytes(); ++i) {
      ASSERT_GE(made.data<uint8_t>()[i], 100) << size;
      ASSERT_LE(made.data<uint8_t>()[i], 150) << size;
    }
  }
}

TEST(pictures, normalize_is_the_formula_for_each_channel_and_changes_the_order_of_axes) {
  for (const int64_t channels : {1, 3}) {
    const Tensor source = picture(6, 11, channels);
    const Plain from = plain(source);
    std::vector<double> mean, deviation;
    for (int64_t c = 0; c < channels; ++c) {
      mean.push_back(0.1 + 0.2 * static_cast<double>(c));
      deviation.push_back(0.3 - 0.05 * static_cast<double>(c));
    }
    const Tensor made = run_picture(source, {step("normalize", {{"mean", mean}, {"std", deviation}})});
    ASSERT_EQ(made.dtype, DType::kFloat32);
    ASSERT_EQ(made.shape, (Shape{channels, 6, 11}));
    const float* got = made.data<float>();
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t y = 0; y < 6; ++y) {
        for (int64_t x = 0; x < 11; ++x) {
          const double exact =
              (from.at(y, x, c) / 255 - mean[static_cast<size_t>(c)]) / deviation[static_cast<size_t>(c)];
          EXPECT_NEAR(*got++, exact, 4e-7 * std::max(1.0, std::abs(exact)));
        }
      }
    }
  }
}

TEST(pictures, layouts_are_the_same_pixels_in_another_order_and_back) {
  const Tensor source = picture(5, 7, 3);
  const Plain from = plain(source);
  const Tensor planar = run_picture(source, {step("layout", {{"order", "chw"}})});
  ASSERT_EQ(planar.shape, (Shape{3, 5, 7}));
  for (int64_t c = 0, i = 0; c < 3; ++c) {
    for (int64_t y = 0; y < 5; ++y) {
      for (int64_t x = 0; x < 7; ++x, ++i) ASSERT_EQ(planar.data<uint8_t>()[i], from.at(y, x, c));
    }
  }
  expect_pixels(run_picture(source, {step("layout", {{"order", "chw"}}), step("layout", {{"order", "hwc"}})}), from,
                "back");
  const Tensor grey = picture(5, 7, 1);
  EXPECT_EQ(blob(run_picture(grey, {step("layout", {{"order", "chw"}})})), blob(grey)) << "one channel has one order";
}

TEST(pictures, chains_are_what_their_steps_are_one_after_the_other) {
  const Tensor source = picture(20, 26, 3);
  Plain expected = mirrored(cropped(plain(source), middle(20, 24), middle(26, 14), 24, 14));
  expected = cropped(expected, middle(24, 9), middle(14, 14), 9, 14);
  const std::vector<OpSpec> steps = {step("center_crop", {{"n", {24, 14}}}), step("random_flip", {{"p", 1.0}}),
                                     step("center_crop", {{"n", {9, 14}}})};
  expect_pixels(run_picture(source, steps), expected, "at once");
  expect_pixels(run_picture(source, steps, {.materialize_each = true}), expected, "one by one");
}

TEST(pictures, casts_of_pixels_to_narrower_types_are_rounded_or_told) {
  const Tensor source = picture(4, 4, 3);
  const Tensor wide = run_picture(source, {step("cast", {{"dtype", "float64"}})});
  for (size_t i = 0; i < source.nbytes(); ++i) EXPECT_EQ(wide.data<double>()[i], source.data<uint8_t>()[i]);
  const Tensor narrow = run_picture(source, {step("cast", {{"dtype", "int8"}, {"errors", "saturate"}})});
  for (size_t i = 0; i < source.nbytes(); ++i)
    EXPECT_EQ(narrow.data<int8_t>()[i], std::min<int>(127, source.data<uint8_t>()[i]));
  Record record = record_of(source);
  const Status refused = run(Schema({picture_field()}), {step("cast", {{"dtype", "int8"}})}, record);
  EXPECT_EQ(refused.code(), Code::kUnsupported);
  EXPECT_EQ(refused.op(), "cast");
}

/// `count` pictures of one size, the first of which is picture(), in a list.
Tensor picture_list(int64_t count, int64_t height, int64_t width) {
  Tensor list = Tensor::allocate(DType::kUint8, {count, height, width, 3});
  const Tensor one = picture(height, width, 3);
  for (size_t i = 0; i < list.nbytes(); ++i)
    list.data<uint8_t>()[i] = static_cast<uint8_t>(one.data<uint8_t>()[i % one.nbytes()] + 7 * (i / one.nbytes()));
  return list;
}

Tensor picture_at(const Tensor& list, int64_t i) {
  const size_t bytes = list.nbytes() / static_cast<size_t>(list.shape[0]);
  return {list.dtype,
          {list.shape[1], list.shape[2], list.shape[3]},
          list.buffer.slice(static_cast<size_t>(i) * bytes, bytes)};
}

Tensor run_list(const Tensor& list, const std::vector<OpSpec>& steps, const RunOptions& options = {}) {
  Field field = tensor_field("image", DType::kUint8, {Shape::kUnknown, Shape::kUnknown, Shape::kUnknown, 3});
  field.image = true;
  Record record = record_of(list);
  const Status status = run(Schema({field}), steps, record, options);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return status.ok() ? record[0].tensor : Tensor();
}

TEST(PictureLists, each_picture_becomes_what_it_becomes_alone) {
  const Json mean = {0.4, 0.5, 0.6}, deviation = {0.2, 0.3, 0.4};
  const std::vector<std::vector<OpSpec>> pipelines = {
      {step("resize", {{"size", {9, 14}}})},
      {step("center_crop", {{"n", 40}})},
      {step("random_crop", {{"n", 12}}), step("random_flip")},
      {step("random_resized_crop", {{"n", 10}}), step("color_jitter", {{"brightness", 0.4}})},
      {step("layout", {{"order", "chw"}}), step("resize", {{"short_side", 8}})},
      {step("normalize", {{"mean", mean}, {"std", deviation}})},
      {step("cast", {{"dtype", "float32"}})}};
  const Tensor list = picture_list(3, 20, 31);
  for (const std::vector<OpSpec>& steps : pipelines) {
    for (const bool materialize_each : {false, true}) {
      const RunOptions options = {.materialize_each = materialize_each};
      const Tensor made = run_list(list, steps, options);
      ASSERT_EQ(made.shape.rank(), 4u) << steps[0].name;
      ASSERT_EQ(made.shape[0], 3);
      for (int64_t i = 0; i < 3; ++i)
        EXPECT_EQ(blob(picture_at(made, i)), blob(run_picture(picture_at(list, i), steps, options)))
            << steps[0].name << " " << i;
      const Tensor none = run_list(Tensor::allocate(DType::kUint8, {0, 20, 31, 3}), steps, options);
      EXPECT_EQ(none.dtype, made.dtype) << steps[0].name;
      ASSERT_EQ(none.shape.rank(), 4u);
      EXPECT_EQ(none.shape[0], 0);
      for (size_t axis = 1; axis < 4; ++axis) EXPECT_EQ(none.shape[axis], made.shape[axis]) << steps[0].name;
    }
  }
}

TEST(PictureLists, the_schema_knows_the_axes_of_lists) {
  Field field = tensor_field("image", DType::kUint8, {Shape::kUnknown, Shape::kUnknown, Shape::kUnknown, 3});
  field.image = true;
  const auto after = [&](const std::vector<OpSpec>& steps) { return schema_after(Schema({field}), steps).to_string(); };
  EXPECT_EQ(after({step("resize", {{"size", {9, 14}}})}), "image: uint8 (?, 9, 14, 3)");
  EXPECT_EQ(after({step("layout", {{"order", "chw"}}), step("center_crop", {{"n", 8}})}), "image: uint8 (?, 3, 8, 8)");
  EXPECT_EQ(after({step("center_crop", {{"n", 8}}), step("normalize", {{"mean", 0.5}, {"std", 0.5}})}),
            "image: float32 (?, 3, 8, 8)");
}

}  // namespace
}  // namespace forebay::ops_test
