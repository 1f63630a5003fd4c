#include "loader/describe/user_code.h"

#include <gtest/gtest.h>

#include <cstring>
#include <exception>
#include <new>

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

/// Passes a record of one field through a map.
Result<Record> mapped_value(Value value, FieldKind kind, MapFunction function, std::vector<std::string> adds = {}) {
  Field field;
  field.name = "x";
  field.kind = kind;
  Schema after({field});
  for (std::string& name : adds) {
    Field added;
    added.name = std::move(name);
    added.kind = FieldKind::kAny;
    after.push_back(std::move(added));
  }
  Record record;
  record.push_back(std::move(value));
  const auto attachment = std::make_shared<MapAttachment>(MapAttachment{std::move(function)});
  WorkMemory memory;
  FOREBAY_RETURN_IF_ERROR(native_map(attachment, Schema({field}), after, {})->apply(record, {{}, &memory}));
  return record;
}

Value three_numbers() {
  Tensor tensor = Tensor::allocate(DType::kInt32, {4});
  for (int32_t i = 0; i < 4; ++i) tensor.data<int32_t>()[i] = i;
  return Value::of(std::move(tensor));
}

Buffer buffer_of_text(std::string_view text) {
  Buffer buffer = Buffer::allocate(text.size());
  std::memcpy(buffer.data(), text.data(), text.size());
  return buffer;
}

TEST(UserCode, shapes_that_the_memory_does_not_hold_are_refused_by_name) {
  for (const Shape& shape : {Shape{5}, Shape{-1}, Shape{4, -4}, Shape{int64_t{1} << 32, int64_t{1} << 32},
                             Shape{int64_t{1} << 62, 4}, Shape{1, 1, 1, 1, 1, 1, 1, 4}}) {
    const auto record = mapped_value(three_numbers(), FieldKind::kTensor, [&](Sample& sample) {
      sample["x"].shape = shape;
      return Status();
    });
    ASSERT_FALSE(record.ok()) << shape.to_string();
    EXPECT_EQ(record.status().code(), Code::kInvalidArgument);
    EXPECT_NE(record.status().message().find("'x'"), std::string::npos) << record.status().message();
  }
}

TEST(UserCode, a_smaller_shape_is_the_first_of_the_memory) {
  const auto record = mapped_value(three_numbers(), FieldKind::kTensor, [](Sample& sample) {
    sample["x"].shape = {3};
    return Status();
  });
  ASSERT_TRUE(record.ok()) << record.status().to_string();
  EXPECT_EQ((*record)[0].shape(), (Shape{3}));
}

TEST(UserCode, bytes_and_text_stay_what_they_were) {
  for (const FieldKind kind : {FieldKind::kBytes, FieldKind::kText}) {
    Value value =
        kind == FieldKind::kBytes ? Value::of_bytes(buffer_of_text("abc")) : Value::of_text(buffer_of_text("abc"));
    const auto record = mapped_value(std::move(value), kind, [](Sample& sample) {
      EXPECT_EQ(sample["x"].shape, (Shape{3}));
      sample["x"].data<uint8_t>()[0] = 'z';
      sample["x"].shape = {2};
      return Status();
    });
    ASSERT_TRUE(record.ok()) << record.status().to_string();
    EXPECT_EQ((*record)[0].kind, kind);
    EXPECT_EQ(std::string((*record)[0].bytes.span().begin(), (*record)[0].bytes.span().end()), "zb");
  }
}

TEST(UserCode, the_function_gets_a_copy_of_the_fields) {
  Tensor original = Tensor::allocate(DType::kInt32, {1});
  original.data<int32_t>()[0] = 7;
  const auto record = mapped_value(Value::of(original), FieldKind::kTensor, [](Sample& sample) {
    sample["x"].data<int32_t>()[0] = 8;
    return Status();
  });
  ASSERT_TRUE(record.ok());
  EXPECT_EQ((*record)[0].tensor.data<int32_t>()[0], 8);
  EXPECT_EQ(original.data<int32_t>()[0], 7);
}

TEST(UserCode, a_declared_field_that_is_missing_is_named) {
  const auto record = mapped_value(three_numbers(), FieldKind::kTensor, [](Sample&) { return Status(); }, {"made"});
  EXPECT_EQ(record.status().code(), Code::kUnsupported);
  EXPECT_NE(record.status().message().find("'made'"), std::string::npos);
}

TEST(UserCode, a_removed_field_keeps_its_old_value) {
  const auto record = mapped_value(three_numbers(), FieldKind::kTensor, [](Sample& sample) {
    sample.clear();
    return Status();
  });
  ASSERT_TRUE(record.ok()) << record.status().to_string();
  EXPECT_EQ((*record)[0].tensor.data<int32_t>()[3], 3);
}

TEST(UserCode, any_exception_but_bad_alloc_is_a_failure_of_the_sample) {
  const auto thrown = mapped_value(three_numbers(), FieldKind::kTensor, [](Sample&) -> Status { throw 42; });
  EXPECT_EQ(thrown.status().code(), Code::kUser);
  ASSERT_NE(thrown.status().payload(), nullptr);
  try {
    std::rethrow_exception(*std::static_pointer_cast<std::exception_ptr>(thrown.status().payload()));
  } catch (const int number) {
    EXPECT_EQ(number, 42) << "whoever asks gets what was thrown";
  }
  EXPECT_THROW(static_cast<void>(mapped_value(three_numbers(), FieldKind::kTensor,
                                              [](Sample&) -> Status { throw std::bad_alloc(); })),
               std::bad_alloc);
  const auto own =
      mapped_value(three_numbers(), FieldKind::kTensor, [](Sample&) -> Status { return corrupt("said so"); });
  EXPECT_EQ(own.status().code(), Code::kCorrupt) << "a status is taken as it is";
}

TEST(UserCode, a_copy_reserves_its_memory_first) {
  Record record;
  record.push_back(three_numbers());
  bool called = false;
  const auto attachment =
      std::make_shared<MapAttachment>(MapAttachment{[&](Sample&) { return called = true, Status(); }});
  Field field;
  field.name = "x";
  WorkMemory little(8);
  const Status status = native_map(attachment, Schema({field}), Schema({field}), {})->apply(record, {{}, &little});
  EXPECT_EQ(status.code(), Code::kOutOfBudget);
  EXPECT_EQ(status.bytes_needed(), 16u);
  EXPECT_FALSE(called) << "it will be called once, when there is room";
}

TEST(UserCode, a_filter_replaces_the_record_by_its_answer) {
  for (const bool keep : {true, false}) {
    Record record;
    record.push_back(three_numbers());
    Field field;
    field.name = "x";
    const auto attachment =
        std::make_shared<FilterAttachment>(FilterAttachment{[&](const Sample&) -> Result<bool> { return keep; }});
    WorkMemory memory;
    ASSERT_TRUE(native_filter(attachment, Schema({field}), {})->apply(record, {{}, &memory}).ok());
    ASSERT_EQ(record.size(), 1u);
    EXPECT_EQ(record[0].tensor.dtype, DType::kBool);
    EXPECT_EQ(*record[0].tensor.data<uint8_t>(), keep ? 1 : 0);
  }
}

}  // namespace
}  // namespace forebay
