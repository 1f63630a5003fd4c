#include "materialize/check_format.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

StoredField field_of(FieldKind kind, std::vector<int64_t> shape = {}, const std::string& name = "x") {
  StoredField stored;
  stored.field.name = name;
  stored.field.kind = kind;
  stored.field.dtype = DType::kFloat32;
  for (const int64_t size : shape) stored.field.shape.push_back(size);
  return stored;
}

MaterializeOptions asked(const std::string& format, const std::string& compression = "") {
  MaterializeOptions options;
  options.format = format;
  options.compression = compression;
  return options;
}

Code checked(const std::string& format, const std::vector<StoredField>& fields, bool in_chunks,
             const std::string& compression = "") {
  return check_format(asked(format, compression), fields, in_chunks).code();
}

TEST(CheckOptions, SaysWhatIsWrongWhateverTheData) {
  for (const char* format : {"arrow", "parquet", "wds", "jpeg"}) EXPECT_TRUE(check_options(asked(format)).ok());
  EXPECT_EQ(check_options(asked("csv")).code(), Code::kInvalidArgument);
  EXPECT_EQ(check_options(asked("arrow", "gzip")).code(), Code::kInvalidArgument);
  MaterializeOptions options = asked("jpeg");
  options.quality = 100, options.limit = 1, options.shards = 1;
  EXPECT_TRUE(check_options(options).ok());
  options.format = "wds";
  EXPECT_EQ(check_options(options).code(), Code::kInvalidArgument) << "others lose nothing";
  options = asked("jpeg");
  options.quality = 101;
  EXPECT_EQ(check_options(options).code(), Code::kInvalidArgument);
  options.quality.reset(), options.limit = 0;
  EXPECT_EQ(check_options(options).code(), Code::kInvalidArgument);
  options.limit.reset(), options.shards = 0;
  EXPECT_EQ(check_options(options).code(), Code::kInvalidArgument);
}

TEST(CheckFormat, TablesAndSamplesHaveFormatsOfTheirOwn) {
  const std::vector<StoredField> numbers{field_of(FieldKind::kTensor, {3})};
  for (const bool in_chunks : {false, true}) EXPECT_EQ(checked("arrow", numbers, in_chunks), Code::kOk);
  EXPECT_EQ(checked("parquet", numbers, true), Code::kOk);
  EXPECT_EQ(checked("parquet", numbers, false), Code::kUnsupported);
  EXPECT_EQ(checked("wds", numbers, false), Code::kOk);
  EXPECT_EQ(checked("wds", numbers, true), Code::kUnsupported);
  EXPECT_EQ(checked("arrow", numbers, true, "zstd"), Code::kOk);
  EXPECT_EQ(checked("arrow", numbers, false, "zstd"), Code::kUnsupported);
}

TEST(CheckFormat, JpegIsForPictures) {
  StoredField picture = field_of(FieldKind::kBytes);
  EXPECT_EQ(checked("jpeg", {picture}, false), Code::kUnsupported);
  picture.field.image = true;
  EXPECT_EQ(checked("jpeg", {picture}, false), Code::kOk);
  StoredField pixels = field_of(FieldKind::kTensor, {8, 8, 3});
  EXPECT_EQ(checked("jpeg", {pixels}, false), Code::kUnsupported);
  pixels.encoded = true;
  EXPECT_EQ(checked("jpeg", {pixels}, false), Code::kOk);
}

TEST(CheckFormat, ColumnsAreOfOneShapeAndNotCalledId) {
  const StoredField uneven = field_of(FieldKind::kTensor, {Shape::kUnknown, Shape::kUnknown});
  EXPECT_EQ(checked("arrow", {uneven}, true), Code::kUnsupported);
  EXPECT_EQ(checked("arrow", {uneven}, false), Code::kOk);
  EXPECT_EQ(checked("arrow", {field_of(FieldKind::kTensor, {}, "id")}, true), Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
