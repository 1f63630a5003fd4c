#include "loader/user_code.h"

#include <gtest/gtest.h>

#include "forebay/string_list.h"

namespace forebay {
namespace {

const std::vector<std::string_view> kTags = {"one", "", "two"};

Schema with_tags() {
  Field tags;
  tags.name = "tags";
  tags.kind = FieldKind::kTextList;
  return Schema({tags});
}

Result<Record> mapped(MapFunction function) {
  Record record;
  record.push_back(Value::of_list(FieldKind::kTextList, StringList::pack(kTags).value().buffer));
  const auto attachment = std::make_shared<MapAttachment>(MapAttachment{std::move(function)});
  const auto op = native_map(attachment, with_tags(), with_tags(), {});
  WorkMemory memory;
  FOREBAY_RETURN_IF_ERROR(op->apply(record, {{}, &memory}));
  return record;
}

TEST(UserCode, a_function_gets_and_gives_a_list_of_strings_as_its_run) {
  const auto record = mapped([](Sample& sample) {
    const StringList tags(sample["tags"].buffer.span());
    EXPECT_EQ(tags.size(), 3u);
    const std::vector<std::string_view> turned = {tags.text(2), "new", tags.text(0)};
    sample["tags"] = StringList::pack(turned).value();
    return Status();
  });
  ASSERT_TRUE(record.ok()) << record.status().to_string();
  EXPECT_EQ((*record)[0].kind, FieldKind::kTextList);
  const StringList tags((*record)[0].bytes.span());
  ASSERT_EQ(tags.size(), 3u);
  EXPECT_EQ(tags.text(0), "two");
  EXPECT_EQ(tags.text(1), "new");
  EXPECT_EQ(tags.text(2), "one");
}

TEST(UserCode, bytes_that_are_no_list_of_strings_are_refused_by_name) {
  const auto record = mapped([](Sample& sample) {
    sample["tags"].data<uint8_t>()[0] = 200;
    return Status();
  });
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.status().code(), Code::kInvalidArgument);
  EXPECT_NE(record.status().message().find("'tags'"), std::string::npos);
  EXPECT_NE(record.status().message().find("StringList::pack"), std::string::npos);
}

TEST(UserCode, numbers_may_take_the_place_of_a_list_of_strings) {
  const auto record = mapped([](Sample& sample) {
    sample["tags"] = Tensor::allocate(DType::kInt64, {3});
    return Status();
  });
  ASSERT_TRUE(record.ok()) << record.status().to_string();
  EXPECT_EQ((*record)[0].kind, FieldKind::kTensor);
}

}  // namespace
}  // namespace forebay
