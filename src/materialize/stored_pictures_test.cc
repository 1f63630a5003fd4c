#include "materialize/stored_pictures.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codec/encode_image.h"
#include "codec/image.h"

namespace forebay {
namespace {

StoredField pixels_field(Shape shape = {Shape::kUnknown, Shape::kUnknown, 3}) {
  StoredField stored;
  stored.field.name = "image", stored.field.image = true, stored.field.shape = shape;
  return stored;
}

Tensor gradient(int64_t height, int64_t width) {
  Tensor pixels = Tensor::allocate(DType::kUint8, {height, width, 3});
  for (size_t i = 0; i < pixels.nbytes(); ++i) pixels.buffer.data()[i] = static_cast<uint8_t>(i / 7);
  return pixels;
}

std::vector<Record> records_of(int count) {
  std::vector<Record> records;
  for (int i = 0; i < count; ++i) records.emplace_back().push_back(Value::of(gradient(10 + i, 40)));
  return records;
}

std::string numbered(size_t i) { return "record " + std::to_string(i); }

MaterializedManifest manifest_of(StoredFormat format, StoredField field) {
  MaterializedManifest manifest;
  manifest.format = format;
  if (manifest.lossy()) manifest.quality = 90;
  manifest.fields.push_back(std::move(field));
  return manifest;
}

TEST(StoredPictures, OnlyPixelsOfEightBitsInOneOrThreeChannelsAreEncoded) {
  const auto encoded = [](StoredField field, StoredFormat format) {
    std::vector<StoredField> fields{std::move(field)};
    mark_encoded(fields, format);
    return fields[0].encoded;
  };
  EXPECT_TRUE(encoded(pixels_field(), StoredFormat::kWds));
  EXPECT_TRUE(encoded(pixels_field({8, 9, 1}), StoredFormat::kJpeg));
  EXPECT_FALSE(encoded(pixels_field(), StoredFormat::kArrow));
  EXPECT_FALSE(encoded(pixels_field({8, 9, 4}), StoredFormat::kWds));
  EXPECT_FALSE(encoded(pixels_field({8, 9}), StoredFormat::kWds));
  StoredField other = pixels_field();
  other.field.dtype = DType::kFloat32;
  EXPECT_FALSE(encoded(other, StoredFormat::kWds));
  other = pixels_field();
  other.field.channels_first = true;
  EXPECT_FALSE(encoded(other, StoredFormat::kWds));
  other = pixels_field();
  other.field.image = false;
  EXPECT_FALSE(encoded(other, StoredFormat::kWds));
  other = pixels_field();
  other.in_index = true;
  EXPECT_FALSE(encoded(other, StoredFormat::kWds));
}

TEST(StoredPictures, AnyNumberOfThreadsMakesTheSameFiles) {
  StoredField field = pixels_field();
  field.encoded = true;
  for (const StoredFormat format : {StoredFormat::kWds, StoredFormat::kJpeg}) {
    std::vector<Record> one = records_of(9), four = records_of(9);
    ASSERT_TRUE(encode_pictures(manifest_of(format, field), one, 1, numbered).ok());
    ASSERT_TRUE(encode_pictures(manifest_of(format, field), four, 4, numbered).ok());
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_TRUE(one[i][0].tensor.buffer.empty());
      EXPECT_EQ(one[i][0].tensor.shape, (Shape{static_cast<int64_t>(10 + i), 40, 3}));
      ASSERT_EQ(one[i][0].bytes.size(), four[i][0].bytes.size());
      EXPECT_EQ(std::memcmp(one[i][0].bytes.data(), four[i][0].bytes.data(), one[i][0].bytes.size()), 0);
      EXPECT_EQ(probe_image(one[i][0].bytes.span())->format,
                format == StoredFormat::kWds ? ImageFormat::kPng : ImageFormat::kJpeg);
    }
  }
}

TEST(StoredPictures, TheLimitIsOfTheLongestSideAndKeepsTheForm) {
  MaterializedManifest manifest = manifest_of(StoredFormat::kJpeg, pixels_field());
  manifest.fields[0].encoded = true;
  manifest.limit = 20;
  std::vector<Record> records = records_of(3);
  ASSERT_TRUE(encode_pictures(manifest, records, 2, numbered).ok());
  EXPECT_EQ(records[0][0].tensor.shape, (Shape{5, 20, 3}));
  EXPECT_EQ(records[2][0].tensor.shape, (Shape{6, 20, 3}));
  EXPECT_EQ(probe_image(records[2][0].bytes.span())->width(), 20);
  manifest.limit = 1000;
  records = records_of(1);
  ASSERT_TRUE(encode_pictures(manifest, records, 1, numbered).ok());
  EXPECT_EQ(records[0][0].tensor.shape, (Shape{10, 40, 3})) << "none becomes larger";
  manifest.fields[0].field.shape = {10, 40, 3};
  manifest.limit = 20;
  records = records_of(1);
  EXPECT_EQ(encode_pictures(manifest, records, 1, numbered).code(), Code::kInvalidArgument);
}

TEST(StoredPictures, EncodedOnesBecomeJpegAndDamagedOnesAreNamed) {
  StoredField bytes = pixels_field({});
  bytes.field.kind = FieldKind::kBytes;
  MaterializedManifest manifest = manifest_of(StoredFormat::kJpeg, bytes);
  manifest.limit = 8;
  std::vector<Record> records;
  for (int i = 0; i < 4; ++i) records.emplace_back().push_back(Value::of_bytes(*encode_png(gradient(16, 12))));
  ASSERT_TRUE(encode_pictures(manifest, records, 2, numbered).ok());
  const ImageInfo info = *probe_image(records[3][0].bytes.span());
  EXPECT_EQ(info.format, ImageFormat::kJpeg);
  EXPECT_EQ(info.height(), 8);
  EXPECT_EQ(info.width(), 6);
  records.clear();
  for (int i = 0; i < 4; ++i) records.emplace_back().push_back(Value::of_bytes(*encode_png(gradient(16, 12))));
  for (const size_t damaged : {3, 1}) records[damaged][0].bytes = records[damaged][0].bytes.slice(0, 60);
  const Status status = encode_pictures(manifest, records, 3, numbered);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_EQ(status.key(), "record 1") << "the first, whoever comes upon it";
}

}  // namespace
}  // namespace forebay
