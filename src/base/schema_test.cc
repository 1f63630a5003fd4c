#include "base/schema.h"

#include <gtest/gtest.h>

#include "base/field_test_support.h"

// Tests how messages describe fields, and how fields are found.

namespace forebay {
namespace {

Schema pictures() {
  return Schema({field_of("image", FieldKind::kTensor, DType::kUint8, {Shape::kUnknown, Shape::kUnknown, 3}),
                 field_of("label", FieldKind::kTensor, DType::kInt64), field_of("key", FieldKind::kText)});
}

TEST(Schema, IsSaidInOneLine) {
  EXPECT_EQ(pictures().to_string(), "image: uint8 (?, ?, 3), label: int64 (), key: text");
  EXPECT_EQ(pictures().names(), "image, label, key");
  EXPECT_EQ(Schema().to_string(), "");
  EXPECT_EQ(Schema().names(), "");
}

TEST(Schema, KindsHaveTheirWords) {
  const std::pair<FieldKind, std::string_view> words[] = {{FieldKind::kBytes, "bytes"},
                                                          {FieldKind::kText, "text"},
                                                          {FieldKind::kBytesList, "lists of bytes"},
                                                          {FieldKind::kTextList, "lists of text"},
                                                          {FieldKind::kAny, "any"}};
  for (const auto& [kind, word] : words) {
    EXPECT_EQ(field_of("x", kind).type_word(), word);
    EXPECT_EQ(field_of("x", kind).to_string(), "x: " + std::string(word));
  }
  EXPECT_EQ(field_of("x", FieldKind::kTensor, DType::kFloat16).type_word(), "float16");
}

TEST(Schema, FieldsAreFoundByTheirWholeNameTheFirstOfSeveral) {
  Schema schema = pictures();
  EXPECT_EQ(schema.find("label"), 1u);
  for (const char* other : {"", "Label", "labe", "labels"}) EXPECT_EQ(schema.find(other), std::nullopt) << other;
  schema.push_back(field_of("label", FieldKind::kBytes));
  EXPECT_EQ(schema.find("label"), 1u);
  schema.erase(1);
  EXPECT_EQ(schema.find("label"), 2u);
  EXPECT_EQ(schema.size(), 3u);
  schema[2].name = "other";
  EXPECT_EQ(schema.names(), "image, key, other");
}

TEST(Schema, OnlyWholeTensorsHaveAFixedShape) {
  EXPECT_TRUE(field_of("x", FieldKind::kTensor, DType::kUint8, {}).fixed_shape());
  EXPECT_TRUE(field_of("x", FieldKind::kTensor, DType::kUint8, {0, 4}).fixed_shape());
  EXPECT_FALSE(field_of("x", FieldKind::kTensor, DType::kUint8, {Shape::kUnknown}).fixed_shape());
  EXPECT_FALSE(field_of("x", FieldKind::kBytes).fixed_shape());
  EXPECT_TRUE(field_of("x", FieldKind::kTextList).string_list());
  EXPECT_FALSE(field_of("x", FieldKind::kText).string_list());
}

}  // namespace
}  // namespace forebay
