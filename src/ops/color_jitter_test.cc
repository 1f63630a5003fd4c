#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ops/ops_test_support.h"

namespace forebay::ops_test {
namespace {

// A range of one value fixes the draw; the order of a single change does not matter.
Blob jittered(const char* what, double factor) {
  return blob(run_picture(picture(16, 20, 3), {step("color_jitter", {{what, {factor, factor}}})}));
}

TEST(color_jitter, equals_pillow_byte_by_byte) {
  EXPECT_EQ(jittered("brightness", 0.6), golden("color/brightness_0.6"));
  EXPECT_EQ(jittered("brightness", 1.7), golden("color/brightness_1.7"));
  EXPECT_EQ(jittered("contrast", 0.4), golden("color/contrast_0.4"));
  EXPECT_EQ(jittered("contrast", 1.9), golden("color/contrast_1.9"));
  EXPECT_EQ(jittered("saturation", 0.3), golden("color/saturation_0.3"));
  EXPECT_EQ(jittered("saturation", 1.8), golden("color/saturation_1.8"));
  EXPECT_EQ(jittered("hue", 0.3), golden("color/hue_0.3"));
  EXPECT_EQ(jittered("hue", -0.4), golden("color/hue_-0.4"));
}

TEST(color_jitter, factors_of_one_change_nothing) {
  const Tensor source = picture(16, 20, 3);
  const Json one = {1.0, 1.0};
  EXPECT_EQ(
      blob(run_picture(source, {step("color_jitter", {{"brightness", one}, {"contrast", one}, {"saturation", one}})})),
      blob(source));
}

TEST(color_jitter, all_orders_come_up_and_fields_share_the_draw) {
  const OpSpec jitter = step("color_jitter", {{"brightness", 0.8}, {"contrast", 0.8}, {"field", {"image", "pair"}}});
  std::set<std::string> seen;
  for (int64_t id = 0; id < 40; ++id) {
    Record record = record_of(picture(8, 8, 3));
    record.push_back(Value::of(picture(8, 8, 3)));
    ASSERT_TRUE(run(Schema({picture_field(), picture_field("pair")}), {jitter}, record, {.key = {.id = id}}).ok());
    EXPECT_EQ(blob(record[0].tensor), blob(record[1].tensor));
    const Blob made = blob(record[0].tensor);
    seen.emplace(made.begin(), made.end());
  }
  EXPECT_GT(seen.size(), 35u);
}

TEST(color_jitter, grey_pictures_keep_their_colour) {
  const Tensor grey = picture(9, 9, 1);
  EXPECT_EQ(blob(run_picture(grey, {step("color_jitter", {{"saturation", {3, 3}}, {"hue", 0.5}})})), blob(grey));
}

TEST(color_jitter, misuse_is_told) {
  const Schema schema({picture_field()});
  EXPECT_EQ(problems_of(schema, {step("color_jitter")}).size(), 1u);
  EXPECT_EQ(problems_of(schema, {step("color_jitter", {{"hue", 0.6}})}).size(), 1u);
  EXPECT_EQ(problems_of(schema, {step("color_jitter", {{"brightness", {2, 1}}, {"contrast", -1}})}).size(), 2u);
  EXPECT_EQ(problems_of(schema, {step("color_jitter", {{"hue", {-0.5, 0.5}}})}).size(), 0u);
}

}  // namespace
}  // namespace forebay::ops_test
