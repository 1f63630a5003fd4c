// center_crop, random_crop, random_resized_crop and random_flip: which pixels they take.

#include <gtest/gtest.h>

#include <cmath>

#include "ops/definition/portable_math.h"
#include "ops/ops_test_support.h"
#include "ops/random_resized_crop.h"

namespace forebay::ops_test {
namespace {

// Each pixel holds its own place.
Tensor places(int64_t height, int64_t width) {
  Tensor tensor = Tensor::allocate(DType::kUint8, {height, width, 2});
  for (int64_t i = 0; i < height * width; ++i) {
    tensor.data<uint8_t>()[2 * i] = static_cast<uint8_t>(1 + i / width);
    tensor.data<uint8_t>()[2 * i + 1] = static_cast<uint8_t>(1 + i % width);
  }
  return tensor;
}

std::pair<int, int> first_place(const Tensor& tensor) {
  return {tensor.data<uint8_t>()[0] - 1, tensor.data<uint8_t>()[1] - 1};
}

TEST(center_crop, starts_where_python_rounds_to) {
  for (const auto& [side, crop, start] : {std::tuple{10, 4, 3}, {11, 4, 4}, {9, 4, 2}, {10, 10, 0}, {13, 4, 4}}) {
    const Tensor made = run_picture(places(side, 20), {step("center_crop", {{"n", {crop, 20}}})});
    EXPECT_EQ(first_place(made).first, start) << side;  // round((H - h) / 2), halves to even
  }
}

TEST(center_crop, puts_zeros_around_smaller_pictures) {
  const Tensor made = run_picture(places(2, 3), {step("center_crop", {{"n", {4, 6}}})});
  ASSERT_EQ(made.shape, (Shape{4, 6, 2}));
  const Blob rows = blob(made);
  auto at = [&](int y, int x) { return int{rows[(y * 6 + x) * 2 + 1]}; };
  EXPECT_EQ(at(0, 2), 0);
  EXPECT_EQ(at(1, 0), 0);
  EXPECT_EQ(at(1, 1), 1);  // 6 - 3: one column before, two after
  EXPECT_EQ(at(1, 3), 3);
  EXPECT_EQ(at(1, 4), 0);
  EXPECT_EQ(at(3, 3), 0);
}

TEST(random_crop, takes_every_place_and_no_other) {
  std::vector<int> seen(4 * 3);
  for (int64_t id = 0; id < 600; ++id) {
    const Tensor made = run_picture(places(7, 8), {step("random_crop", {{"n", {4, 6}}})}, {.key = {.id = id}});
    const auto [y, x] = first_place(made);
    ASSERT_LE(y, 3);
    ASSERT_LE(x, 2);
    ++seen[y * 3 + x];
  }
  for (const int count : seen) EXPECT_GT(count, 20);  // 50 expected
}

TEST(random_crop, larger_than_the_picture_names_both_sizes) {
  Record record = record_of(picture(30, 40, 3));
  const Status status = run(Schema({picture_field()}), {step("random_crop", {{"n", 32}})}, record, {.key = {.id = 17}});
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_EQ(
      status.to_string(),
      "Unsupported: random_crop: a crop of 32 × 32 does not fit into the picture of 40 × 30; put .resize before it "
      "(sample 17)");
}

TEST(random_crop, fields_of_different_size_are_an_error_naming_the_sample) {
  Record record = record_of(picture(30, 40, 3));
  record.push_back(Value::of(picture(30, 41, 1)));
  const Schema schema({picture_field(), picture_field("mask", 1)});
  const Status status =
      run(schema, {step("random_crop", {{"n", 8}, {"field", {"image", "mask"}}})}, record, {.key = {.id = 5}});
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_EQ(status.sample(), 5);
  EXPECT_NE(status.message().find("'image' is 40 × 30 pixels and 'mask' is 41 × 30"), std::string::npos)
      << status.message();
}

TEST(random_crop, fields_share_one_draw) {
  for (int64_t id = 0; id < 20; ++id) {
    Record record = record_of(places(30, 40));
    record.push_back(Value::of(places(30, 40)));
    const Schema schema({picture_field("image", 2), picture_field("mask", 2)});
    const Json both = {"image", "mask"};
    ASSERT_TRUE(run(schema, {step("random_crop", {{"n", 8}, {"field", both}}), step("random_flip", {{"field", both}})},
                    record, {.key = {.id = id}})
                    .ok());
    EXPECT_EQ(blob(record[0].tensor), blob(record[1].tensor));
  }
}

TEST(random_resized_crop, draws_areas_and_shapes_as_asked) {
  double area = 0, log_ratio = 0;
  constexpr int kDraws = 20'000;
  for (int64_t id = 0; id < kDraws; ++id) {
    RandomStream random({.seed = 3, .id = id}, 0);
    const Rect part = draw_crop(1000, 1000, {0.2, 0.4, 0.5, 2.0}, random);
    ASSERT_GE(part.x, 0);
    ASSERT_GE(part.y, 0);
    ASSERT_LE(part.x + part.width, 1000);
    ASSERT_LE(part.y + part.height, 1000);
    const double share = static_cast<double>(part.width * part.height) / 1e6;
    ASSERT_NEAR(share, 0.3, 0.102);
    area += share;
    log_ratio += std::log(static_cast<double>(part.width) / static_cast<double>(part.height));
  }
  EXPECT_NEAR(area / kDraws, 0.3, 0.002);
  EXPECT_NEAR(log_ratio / kDraws, 0.0, 0.01);
}

TEST(random_resized_crop, falls_back_to_the_middle) {
  RandomStream random({}, 0);
  // No part with 0.9 or more of the area of such a thin picture has an allowed ratio.
  EXPECT_EQ(draw_crop(1000, 10, {0.9, 1.0, 0.75, 4.0 / 3.0}, random), (Rect{0, 493, 10, 13}));
  EXPECT_EQ(draw_crop(10, 1000, {0.9, 1.0, 0.75, 4.0 / 3.0}, random), (Rect{493, 0, 13, 10}));
  EXPECT_EQ(draw_crop(1, 1, {0.9, 1.0, 5.0, 6.0}, random), (Rect{0, 0, 1, 1}));
}

TEST(random_flip, mirrors_with_the_asked_probability) {
  int flipped = 0;
  for (int64_t id = 0; id < 4000; ++id) {
    const Tensor made = run_picture(places(1, 5), {step("random_flip", {{"p", 0.3}})}, {.key = {.id = id}});
    const int first = first_place(made).second;
    ASSERT_TRUE(first == 0 || first == 4);
    flipped += first == 4;
  }
  EXPECT_NEAR(flipped, 1200, 120);
}

TEST(random_ops, operators_without_randomness_change_no_draw) {
  const Tensor source = places(40, 50);
  const OpSpec crop = step("random_crop", {{"n", 20}}), flip = step("random_flip");
  for (int64_t id = 0; id < 10; ++id) {
    const RunOptions options = {.key = {.seed = 9, .epoch = 2, .id = id}};
    const Blob plain = blob(run_picture(source, {crop, flip}, options));
    EXPECT_EQ(plain, blob(run_picture(
                         source, {step("layout", {{"order", "hwc"}}), crop, step("cast", {{"dtype", "uint8"}}), flip},
                         options)));
    EXPECT_NE(plain, blob(run_picture(source, {flip, crop}, options)));
  }
}

TEST(random_ops, every_part_of_the_key_counts) {
  const OpSpec crop = step("random_crop", {{"n", 4}});
  const Tensor source = places(200, 200);
  auto place = [&](SampleKey key) { return first_place(run_picture(source, {crop}, {.key = key})); };
  const SampleKey key = {.seed = 1, .epoch = 1, .id = 1, .occurrence = 0};
  EXPECT_EQ(place(key), place(key));
  EXPECT_NE(place(key), place({.seed = 2, .epoch = 1, .id = 1}));
  EXPECT_NE(place(key), place({.seed = 1, .epoch = 2, .id = 1}));
  EXPECT_NE(place(key), place({.seed = 1, .epoch = 1, .id = 2}));
  EXPECT_NE(place(key), place({.seed = 1, .epoch = 1, .id = 1, .occurrence = 1}));
}

TEST(crops, misuse_is_told) {
  const Schema schema({picture_field()});
  auto count = [&](const char* name, Json args) { return problems_of(schema, {step(name, std::move(args))}).size(); };
  EXPECT_EQ(count("center_crop", {{"n", -1}}), 1u);
  EXPECT_EQ(count("center_crop", Json::object()), 1u);
  EXPECT_EQ(count("random_crop", {{"n", {0, 5}}}), 1u);
  EXPECT_EQ(count("random_resized_crop", {{"n", 8}, {"scale", {0.0, 1.0}}}), 1u);
  EXPECT_EQ(count("random_resized_crop", {{"n", 8}, {"scale", {0.5, 1.5}}, {"ratio", {2, 1}}}), 2u);
  EXPECT_EQ(count("random_resized_crop", {{"n", 8}, {"scale", 0.5}}), 1u);
  EXPECT_EQ(count("random_flip", {{"p", 1.5}}), 1u);
  EXPECT_EQ(count("random_flip", {{"p", "half"}}), 1u);
  EXPECT_EQ(count("random_crop", {{"n", 8}, {"field", {"image", "image"}}}), 1u);
}

TEST(portable_math, agrees_with_the_system) {
  for (double x = -12; x < 12; x += 0.037) EXPECT_NEAR(portable_exp(x) / std::exp(x), 1.0, 3e-15) << x;
  for (double x = 1e-6; x < 1e6; x *= 1.37)
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-14 * (1 + std::abs(std::log(x)))) << x;
}

}  // namespace
}  // namespace forebay::ops_test
