#include <gtest/gtest.h>

#include <cstdio>

#include "ops/ops_test_support.h"

namespace forebay::ops_test {
namespace {

struct Case {
  const char* size;
  int64_t height, width, to_height, to_width, channels;
};

constexpr Case kGoldens[] = {
    {"61x47_to_24x24_3", 61, 47, 24, 24, 3}, {"47x61_to_24x24_3", 47, 61, 24, 24, 3},
    {"33x90_to_16x20_3", 33, 90, 16, 20, 3}, {"90x33_to_16x40_3", 90, 33, 16, 40, 3},
    {"20x17_to_31x45_3", 20, 17, 31, 45, 3}, {"24x24_to_24x11_3", 24, 24, 24, 11, 3},
    {"24x24_to_9x24_3", 24, 24, 9, 24, 3},   {"97x89_to_5x7_3", 97, 89, 5, 7, 3},
    {"1x50_to_8x8_3", 1, 50, 8, 8, 3},       {"50x1_to_8x3_3", 50, 1, 8, 3, 3},
    {"2x3_to_13x11_3", 2, 3, 13, 11, 3},     {"40x30_to_1x1_3", 40, 30, 1, 1, 3},
    {"61x47_to_24x24_1", 61, 47, 24, 24, 1}, {"19x23_to_40x9_1", 19, 23, 40, 9, 1},
};

OpSpec resize(int64_t height, int64_t width, const char* interpolation = "bilinear") {
  return step("resize", {{"size", {height, width}}, {"interpolation", interpolation}});
}

class SimdLevels : public testing::TestWithParam<SimdLevel> {
 protected:
  void SetUp() override { set_simd_level(GetParam()); }
  void TearDown() override { set_simd_level(best_simd_level()); }
};
INSTANTIATE_TEST_SUITE_P(All, SimdLevels, testing::ValuesIn(simd_levels()),
                         [](const auto& param) { return std::string(simd_level_name(param.param)); });

TEST_P(SimdLevels, equals_pillow_byte_by_byte) {
  for (const Case& c : kGoldens) {
    for (const char* method : {"bilinear", "nearest"}) {
      const Blob expected = golden(std::string("resize/") + method + "_" + c.size);
      const Tensor made =
          run_picture(picture(c.height, c.width, c.channels), {resize(c.to_height, c.to_width, method)});
      EXPECT_EQ(blob(made), expected) << method << " " << c.size;
    }
  }
}

TEST_P(SimdLevels, all_give_what_plain_code_gives) {
  for (int64_t width = 1; width < 200; width += 7) {
    const Tensor source = picture(200 - width, width, 3);
    const std::vector<OpSpec> steps = {resize(1 + width % 37, 1 + width * 5 % 71),
                                       step("normalize", {{"mean", {0.4, 0.5, 0.6}}, {"std", {0.2, 0.3, 0.4}}})};
    const Blob made = blob(run_picture(source, steps));
    set_simd_level(SimdLevel::kScalar);
    EXPECT_EQ(made, blob(run_picture(source, steps))) << width;
    set_simd_level(GetParam());
  }
}

// Sums of more taps than a 16-bit product could hold.
TEST_P(SimdLevels, long_rows_to_one_pixel) {
  Tensor white = Tensor::allocate(DType::kUint8, {1, 70'000, 3});
  std::fill_n(white.data<uint8_t>(), white.nbytes(), 255);
  EXPECT_EQ(blob(run_picture(white, {resize(1, 1)})), Blob({255, 255, 255}));
}

TEST(resize, short_side_keeps_proportions_cut_down) {
  const Tensor made = run_picture(picture(30, 47, 3), {step("resize", {{"short_side", 20}})});
  EXPECT_EQ(made.shape, (Shape{20, 31, 3}));  // 20 * 47 / 30 = 31.3
  const Tensor tall = run_picture(picture(47, 30, 3), {step("resize", {{"short_side", 20}})});
  EXPECT_EQ(tall.shape, (Shape{31, 20, 3}));
}

TEST(resize, absurd_proportions_are_unsupported_and_say_so) {
  Record record = record_of(Tensor::allocate(DType::kUint8, {1, 100'000, 3}));
  const Status status = run(Schema({picture_field()}), {step("resize", {{"short_side", 224}})}, record);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_EQ(status.op(), "resize");
  EXPECT_NE(status.message().find("22400000 × 224"), std::string::npos) << status.message();
}

TEST(resize, nearest_takes_any_type) {
  Tensor mask = Tensor::allocate(DType::kInt32, {2, 2});
  const int32_t values[] = {1, 70'000, -3, 4};
  std::copy_n(values, 4, mask.data<int32_t>());
  Record record = record_of(mask);
  const Schema schema({tensor_field("mask", DType::kInt32, {2, 2})});
  ASSERT_TRUE(
      run(schema, {step("resize", {{"size", 4}, {"field", "mask"}, {"interpolation", "nearest"}})}, record).ok());
  ASSERT_EQ(record[0].tensor.shape, (Shape{4, 4}));
  EXPECT_EQ(record[0].tensor.data<int32_t>()[2], 70'000);
  EXPECT_EQ(record[0].tensor.data<int32_t>()[8], -3);
}

TEST(resize, a_mask_may_have_its_own_interpolation) {
  Record record = record_of(picture(8, 8, 3));
  Tensor mask = Tensor::allocate(DType::kUint8, {8, 8});
  for (int i = 0; i < 64; ++i) mask.data<uint8_t>()[i] = i % 2 == 0 ? 10 : 200;
  record.push_back(Value::of(mask));
  const Schema schema({picture_field(), tensor_field("mask", DType::kUint8, {8, 8})});
  const OpSpec spec =
      step("resize", {{"size", 5}, {"field", {"image", "mask"}}, {"interpolation", {{"mask", "nearest"}}}});
  ASSERT_TRUE(run(schema, {spec}, record).ok());
  for (const uint8_t value : blob(record[1].tensor)) EXPECT_TRUE(value == 10 || value == 200) << int{value};
  EXPECT_EQ(blob(record[0].tensor), blob(run_picture(picture(8, 8, 3), {resize(5, 5)})));
}

TEST(resize, misuse_is_told) {
  const Schema schema({picture_field(), tensor_field("mask", DType::kInt64, {8, 8}), bytes_field("raw")});
  auto message = [&](Json args) {
    const auto problems = problems_of(schema, {step("resize", std::move(args))});
    return problems.empty() ? std::string("none") : problems[0].message + " | " + problems[0].remedy;
  };
  EXPECT_EQ(message({{"size", 8}}), "none");
  EXPECT_NE(message(Json::object()).find("neither size nor short_side"), std::string::npos);
  EXPECT_NE(message({{"size", 8}, {"short_side", 8}}).find("both given"), std::string::npos);
  EXPECT_NE(message({{"size", 0}}).find("size is 0"), std::string::npos);
  EXPECT_NE(message({{"size", {1, 2, 3}}}).find("[height, width]"), std::string::npos);
  EXPECT_NE(message({{"size", "8"}}).find("size is \"8\""), std::string::npos);
  EXPECT_NE(message({{"size", 8}, {"field", "imag"}}).find("did you mean 'image'?"), std::string::npos);
  EXPECT_NE(message({{"size", 8}, {"field", "raw"}}).find("put .decode_image(field=\"raw\") before .resize"),
            std::string::npos);
  EXPECT_NE(message({{"size", 8}, {"interpolation", "cubic"}}).find("unknown interpolation \"cubic\""),
            std::string::npos);
  EXPECT_NE(message({{"size", 8}, {"field", "mask"}}).find("interpolation={\"mask\": \"nearest\"}"), std::string::npos);
  EXPECT_NE(message({{"size", 8}, {"interpolation", {{"label", "nearest"}}}}).find("'label'"), std::string::npos);
  EXPECT_NE(message({{"siz", 8}}).find("unknown argument 'siz' (did you mean 'size'?)"), std::string::npos);
}

}  // namespace
}  // namespace forebay::ops_test
