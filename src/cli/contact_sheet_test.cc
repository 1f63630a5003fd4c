#include "cli/contact_sheet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace forebay {
namespace {

/// Returns `count` pictures of one colour each. Picture i has red 10 i, green 10 i + 1, blue 10 i +
/// 2.
Batch batch_of(int64_t count, int64_t side) {
  const NormalizeOptions normalize = imagenet();
  Batch batch;
  BatchField image, label;
  image.name = "image";
  image.values = Tensor::allocate(DType::kFloat32, {count, 3, side, side});
  label.name = "label";
  label.values = Tensor::allocate(DType::kInt64, {count});
  float* out = image.values.data<float>();
  for (int64_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      const double level = static_cast<double>(10 * i) + static_cast<double>(c);
      const auto value = static_cast<float>((level / 255 - normalize.mean[c]) / normalize.std[c]);
      out = std::fill_n(out, side * side, value);
    }
    label.values.data<int64_t>()[i] = i % 3;
    batch.ids.push_back(i);
  }
  batch.fields = {image, label};
  return batch;
}

ContactSheetOptions options(const std::function<void(ContactSheetOptions&)>& set) {
  ContactSheetOptions result;
  set(result);
  return result;
}

int count_pixels(const Picture& sheet, Rgb color) {
  int count = 0;
  for (int y = 0; y < sheet.height(); ++y) {
    for (int x = 0; x < sheet.width(); ++x) count += sheet.at(x, y) == color;
  }
  return count;
}

TEST(ContactSheet, ShowsEveryPictureAsItWasBeforeNormalize) {
  const auto sheet = contact_sheet(batch_of(11, 20), options([](auto& o) { o.columns = 4; }));
  ASSERT_TRUE(sheet.ok());
  for (int i = 0; i < 11; ++i) {
    const auto level = static_cast<uint8_t>(10 * i);
    EXPECT_EQ(count_pixels(*sheet, {level, static_cast<uint8_t>(level + 1), static_cast<uint8_t>(level + 2)}), 400)
        << i;
  }
}

TEST(ContactSheet, LeavesOutPaddingAndWhatIsTooMuch) {
  Batch batch = batch_of(11, 20);
  batch.padding = 1;
  const auto sheet = contact_sheet(batch, {});
  ASSERT_TRUE(sheet.ok());
  EXPECT_EQ(count_pixels(*sheet, {90, 91, 92}), 400);
  EXPECT_EQ(count_pixels(*sheet, {100, 101, 102}), 0);
  const auto few = contact_sheet(batch, options([](auto& o) { o.max_pictures = 2; }));
  ASSERT_TRUE(few.ok());
  EXPECT_EQ(count_pixels(*few, {20, 21, 22}), 0);
}

TEST(ContactSheet, ReducesLargePictures) {
  const auto sheet = contact_sheet(batch_of(1, 600), {});
  ASSERT_TRUE(sheet.ok());
  EXPECT_EQ(count_pixels(*sheet, {0, 1, 2}), 200 * 200);
}

TEST(ContactSheet, WritesTheNamesOfTheClasses) {
  const auto bare = contact_sheet(batch_of(3, 40), options([](auto& o) { o.classes = {" ", " ", " "}; }));
  const auto named = contact_sheet(batch_of(3, 40), options([](auto& o) { o.classes = {"daisy", "rose", "tulip"}; }));
  ASSERT_TRUE(bare.ok() && named.ok());
  EXPECT_EQ(bare->width(), named->width());
  EXPECT_NE(bare->pixels(), named->pixels());
}

TEST(ContactSheet, AnEmptyBatchGivesAnEmptySheet) { EXPECT_TRUE(contact_sheet(batch_of(0, 16), {}).ok()); }

TEST(ContactSheet, RefusesWhatIsNoPicture) {
  Batch batch = batch_of(2, 16);
  batch.fields[0].values = Tensor::allocate(DType::kUint8, {2, 16, 16, 3});
  EXPECT_EQ(contact_sheet(batch, {}).status().code(), Code::kUnsupported);
  batch.fields.clear();
  EXPECT_EQ(contact_sheet(batch, {}).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace forebay
