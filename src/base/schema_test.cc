#include "base/schema.h"

#include <gtest/gtest.h>

// What messages say of fields, and how they are found.

namespace forebay {
namespace {

Field field(std::string name, FieldKind kind, DType dtype = DType::kUint8, Shape shape = {}) {
  Field made;
  made.name = std::move(name);
  made.kind = kind;
  made.dtype = dtype;
  made.shape = shape;
  return made;
}

Schema pictures() {
  return Schema({field("image", FieldKind::kTensor, DType::kUint8, {Shape::kUnknown, Shape::kUnknown, 3}),
                 field("label", FieldKind::kTensor, DType::kInt64), field("key", FieldKind::kText)});
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
    EXPECT_EQ(field("x", kind).type_word(), word);
    EXPECT_EQ(field("x", kind).to_string(), "x: " + std::string(word));
  }
  EXPECT_EQ(field("x", FieldKind::kTensor, DType::kFloat16).type_word(), "float16");
}

TEST(Schema, FieldsAreFoundByTheirWholeNameTheFirstOfSeveral) {
  Schema schema = pictures();
  EXPECT_EQ(schema.find("label"), 1u);
  for (const char* other : {"", "Label", "labe", "labels"}) EXPECT_EQ(schema.find(other), std::nullopt) << other;
  schema.push_back(field("label", FieldKind::kBytes));
  EXPECT_EQ(schema.find("label"), 1u);
  schema.erase(1);
  EXPECT_EQ(schema.find("label"), 2u);
  EXPECT_EQ(schema.size(), 3u);
  schema[2].name = "other";
  EXPECT_EQ(schema.names(), "image, key, other");
}

TEST(Schema, OnlyWholeTensorsHaveAFixedShape) {
  EXPECT_TRUE(field("x", FieldKind::kTensor, DType::kUint8, {}).fixed_shape());
  EXPECT_TRUE(field("x", FieldKind::kTensor, DType::kUint8, {0, 4}).fixed_shape());
  EXPECT_FALSE(field("x", FieldKind::kTensor, DType::kUint8, {Shape::kUnknown}).fixed_shape());
  EXPECT_FALSE(field("x", FieldKind::kBytes).fixed_shape());
  EXPECT_TRUE(field("x", FieldKind::kTextList).string_list());
  EXPECT_FALSE(field("x", FieldKind::kText).string_list());
}

}  // namespace
}  // namespace forebay
