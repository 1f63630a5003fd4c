#include "stream/record_format.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/convert.h"
#include "stream/named_values.h"

namespace forebay {

namespace {

Buffer payload_of(std::string_view text) {
  Buffer bytes = Buffer::allocate(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string text_in(const Value& value) {
  return {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()};
}

Buffer named(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs) {
  std::string run;
  const auto put = [&](std::string_view text) {
    uint8_t length[kNamedLength];
    put_named_length(length, text.size());
    run.append(reinterpret_cast<const char*>(length), sizeof length).append(text);
  };
  for (const auto& [name, value] : pairs) {
    put(name);
    put(value);
  }
  return payload_of(run);
}

RecordFormat format_of(std::string_view form, std::string_view fields = "") {
  auto format = RecordFormat::parse(form, fields);
  EXPECT_TRUE(format.ok()) << format.status().to_string();
  return std::move(format).value();
}

Status loaded(const RecordFormat& format, const Buffer& payload) {
  Record record;
  return format.decode("k", payload, record);
}

void expect_corrupt(const RecordFormat& format, const Buffer& payload, const std::string& word) {
  const Status status = loaded(format, payload);
  EXPECT_EQ(status.code(), Code::kCorrupt) << word;
  EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
}

}  // namespace

TEST(RecordFormat, BytesAndTextAreThePayloadAndItsKey) {
  for (const std::string form : {"bytes", "text"}) {
    const RecordFormat format = format_of(form);
    Record record;
    ASSERT_TRUE(format.decode("the key", payload_of("the payload"), record).ok());
    ASSERT_EQ(record.size(), 2u);
    EXPECT_EQ(format.schema().names(), form + ", key");
    EXPECT_EQ(text_in(record[0]), "the payload");
    EXPECT_EQ(text_in(record[1]), "the key");
  }
  EXPECT_TRUE(loaded(format_of("bytes"), payload_of("\xff")).ok());
  expect_corrupt(format_of("text"), payload_of("ab\xff"), "byte 2");
}

TEST(RecordFormat, MembersOfJsonAreFields) {
  const RecordFormat format = format_of(
      "json",
      R"({"a": "int32", "b.c": ["float32", [2, 2]], "t": "text", "any": "json", "yes": "bool", "l": ["uint8", [-1]], "big": "uint64", "h": "float16"})");
  Record record;
  const Status status = format.decode(
      "", payload_of(R"( {"b": {"c": [1, 2.5, 3, 4]}, "a": -7, "t": "é", "any": {"x": [1, null]}, "yes": true,
                          "l": [1, 255], "big": 18446744073709551615, "h": 0.5, "more": [[1]]} )"),
      record);
  ASSERT_TRUE(status.ok()) << status.to_string();
  ASSERT_EQ(record.size(), 8u);
  EXPECT_EQ(*record[0].tensor.data<int32_t>(), -7);
  EXPECT_EQ(record[1].tensor.shape, (Shape{2, 2}));
  EXPECT_EQ(record[1].tensor.data<float>()[1], 2.5F);
  EXPECT_EQ(text_in(record[2]), "é");
  EXPECT_EQ(text_in(record[3]), R"({"x":[1,null]})");
  EXPECT_EQ(*record[4].tensor.data<uint8_t>(), 1);
  EXPECT_EQ(record[5].tensor.shape, (Shape{2}));
  EXPECT_EQ(record[5].tensor.data<uint8_t>()[1], 255);
  EXPECT_EQ(*record[6].tensor.data<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(*record[7].tensor.data<uint16_t>(), float_to_half(0.5F));
}

TEST(RecordFormat, JsonThatIsNotWhatWasDeclaredIsCorruptByName) {
  const RecordFormat format = format_of("json", R"({"small": "uint8", "list": ["int64", [3]]})");
  expect_corrupt(format, payload_of(R"({"small": 256, "list": [1, 2, 3]})"), "small");
  expect_corrupt(format, payload_of(R"({"small": -1, "list": [1, 2, 3]})"), "small");
  expect_corrupt(format, payload_of(R"({"small": "1", "list": [1, 2, 3]})"), "small");
  expect_corrupt(format, payload_of(R"({"small": 1, "list": [1, 2]})"), "list of 2");
  expect_corrupt(format, payload_of(R"({"small": 1})"), "'list' is null or missing");
  EXPECT_EQ(loaded(format, payload_of(R"({"small": 1})")).message().find("null="), std::string::npos);
  expect_corrupt(format, payload_of("[1]"), "no JSON object");
  expect_corrupt(format, payload_of(""), "no JSON object");
  expect_corrupt(format, payload_of(R"({"small": 1, "list": [1, 2, 3]}{})"), "JSON");
}

TEST(RecordFormat, NamedValuesAreFields) {
  const RecordFormat format = format_of(
      "fields",
      R"({"i": "int16", "f": "float64", "h": "float16", "ok": "bool", "raw": "bytes", "t": "text", "a": ["float32", [-1, 2]]})");
  const float elements[4] = {1, 2, 3, 4};
  const std::string_view array(reinterpret_cast<const char*>(elements), sizeof elements);
  Record record;
  const Status status = format.decode("",
                                      named({{"a", array},
                                             {"more", "?"},
                                             {"i", "0"},
                                             {"i", "-300"},
                                             {"f", "2.5e3"},
                                             {"h", "1.5"},
                                             {"ok", "true"},
                                             {"raw", "\xff"},
                                             {"t", ""}}),
                                      record);
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(*record[0].tensor.data<int16_t>(), -300) << "the last of a name counts";
  EXPECT_EQ(*record[1].tensor.data<double>(), 2500);
  EXPECT_EQ(*record[2].tensor.data<uint16_t>(), float_to_half(1.5F));
  EXPECT_EQ(*record[3].tensor.data<uint8_t>(), 1);
  EXPECT_EQ(text_in(record[4]), "\xff");
  EXPECT_EQ(text_in(record[5]), "");
  EXPECT_EQ(record[6].tensor.shape, (Shape{2, 2}));
  EXPECT_EQ(record[6].tensor.data<float>()[3], 4);
}

TEST(RecordFormat, NamedValuesThatAreNotWhatWasDeclaredAreCorruptByName) {
  const RecordFormat format = format_of("fields", R"({"n": "int8"})");
  for (const std::string_view text : {"128", "", "1 ", "0x1", "1.0", "+1"})
    expect_corrupt(format, named({{"n", text}}), "'n'");
  expect_corrupt(format, named({}), "'n' is missing");
  expect_corrupt(format_of("fields", R"({"a": ["int64", [2]]})"), named({{"a", "short"}}), "5 bytes");
  expect_corrupt(format_of("fields", R"({"a": ["bool", [2]]})"), named({{"a", "\x01\x02"}}), "bool");
  expect_corrupt(format_of("fields", R"({"t": "text"})"), named({{"t", "\xc0"}}), "UTF-8");
}

TEST(RecordFormat, RunsThatAreCutAreCorrupt) {
  const RecordFormat format = format_of("fields", R"({"n": "int8"})");
  const Buffer whole = named({{"n", "1"}});
  ASSERT_TRUE(loaded(format, whole).ok());
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_EQ(loaded(format, whole.slice(0, length)).code(), Code::kCorrupt) << length;
}

TEST(RecordFormat, FieldsThatAreNoneAreRefusedByName) {
  for (const auto& [fields, word] : {std::pair{R"({"x": "int65"})", "'x'"},
                                     {R"({"x": ["int64", [0]]})", "'x'"},
                                     {R"({"x": ["int64", [2, -1]]})", "'x'"},
                                     {R"({"x": ["int64", [1, 1, 1, 1, 1, 1, 1, 1, 1]]})", "'x'"},
                                     {R"({"x": ["int64", [4294967296, 4294967296]]})", "'x'"},
                                     {R"({"x": ["int64", [1.5]]})", "'x'"},
                                     {R"({"x": 3})", "'x'"},
                                     {R"({"x": "int64", "y": "text", "x": "text"})", "'x' is there twice"},
                                     {R"({"": "text"})", "empty"},
                                     {"[]", "object"},
                                     {"{", "object"},
                                     {"{}", "object"}}) {
    for (const std::string form : {"json", "fields"}) {
      const auto format = RecordFormat::parse(form, fields);
      EXPECT_EQ(format.status().code(), Code::kInvalidArgument) << fields;
      EXPECT_NE(format.status().message().find(word), std::string::npos) << format.status().message();
    }
  }
  EXPECT_EQ(RecordFormat::parse("json", R"({"x": "bytes"})").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(RecordFormat::parse("json", R"({"x": "text", "x.y": "text"})").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(RecordFormat::parse("fields", R"({"x": "json"})").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(RecordFormat::parse("json", "").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(RecordFormat::parse("bytes", R"({"x": "text"})").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(RecordFormat::parse("csv", "").status().code(), Code::kInvalidArgument);
}

}  // namespace forebay
