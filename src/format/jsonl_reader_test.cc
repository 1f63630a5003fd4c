#include "format/jsonl_reader.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace forebay {
namespace {

/// Records its calls as text: "a=b:true a=i:1 end(1)".
struct WrittenDown final : JsonlSink {
  std::vector<std::string> seen;
  Status answer;  ///< returned for a member called "stop"

  Status note(std::string_view name, std::string_view kind, std::string value, uint64_t line) {
    seen.push_back(fmt::format("{} {}={}:{}", line, name, kind, value));
    return name == "stop" ? answer : Status();
  }
  Status value(std::string_view name, bool v, uint64_t line) override {
    return note(name, "b", fmt::to_string(v), line);
  }
  Status value(std::string_view name, int64_t v, uint64_t line) override {
    return note(name, "i", std::to_string(v), line);
  }
  Status value(std::string_view name, uint64_t v, uint64_t line) override {
    return note(name, "u", std::to_string(v), line);
  }
  Status value(std::string_view name, double v, uint64_t line) override {
    return note(name, "f", fmt::to_string(v), line);
  }
  Status value(std::string_view name, std::string_view text, uint64_t line) override {
    return note(name, "t", std::string(text), line);
  }
  Status tree(std::string_view name, std::string_view json, uint64_t line) override {
    return note(name, "t", std::string(json), line);
  }
  Status end_of_object(uint64_t line) override {
    seen.push_back(fmt::format("{} end", line));
    return {};
  }
};

Status read_lines(std::string_view text, WrittenDown& sink, size_t step = 1 << 20) {
  JsonlReader reader(sink);
  for (size_t at = 0; at < text.size(); at += step) FOREBAY_RETURN_IF_ERROR(reader.feed(text.substr(at, step)));
  return reader.finish();
}

std::vector<std::string> members(const std::string& text, size_t step = 1 << 20) {
  WrittenDown sink;
  const Status status = read_lines(text, sink, step);
  if (!status.ok()) sink.seen.push_back(status.to_string());
  return sink.seen;
}

std::string value_of(const std::string& json) {
  const auto seen = members("{\"v\": " + json + "}");
  return seen[0].starts_with("1 v=") ? seen[0].substr(4) : seen.back();
}

TEST(JsonlReader, NumbersComeAsTheNarrowestTypeThatHoldsThemExactly) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "i:0"},
      {"-0", "i:0"},
      {"9223372036854775807", "i:9223372036854775807"},
      {"-9223372036854775808", "i:-9223372036854775808"},
      {"9223372036854775808", "u:9223372036854775808"},
      {"18446744073709551615", "u:18446744073709551615"},
      {"1.0", "f:1"},
      {"1e2", "f:100"},
      {"-1E-2", "f:-0.01"},
      {"18446744073709551616.0", "f:1.8446744073709552e+19"},
      {"5e-324", "f:5e-324"},
      {"true", "b:true"},
      {"false", "b:false"},
      {"\"1\"", "t:1"},
      {"\"\"", "t:"},
      {"\"\\u00e9\\ud83d\\ude00\\n\"", "t:\xc3\xa9\xf0\x9f\x98\x80\n"},
  };
  for (const auto& [json, value] : cases) EXPECT_EQ(value_of(json), value) << json;
}

TEST(JsonlReader, ListsAndObjectsAreTextWithoutBlanks) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "t:[]"},
      {"{ }", "t:{}"},
      {"[ {\"role\": \"user\", \"content\": \"a \\u00e9\\n\"}, null ]",
       "t:[{\"role\":\"user\",\"content\":\"a \xc3\xa9\\n\"},null]"},
      {"{\"k\": [1, -2, 1.50, 18446744073709551615, true, [{}]]}",
       "t:{\"k\":[1,-2,1.50,18446744073709551615,true,[{}]]}"},
  };
  for (const auto& [json, value] : cases) EXPECT_EQ(value_of(json), value) << json;
  EXPECT_EQ(members("{\"a\": [{\"a\": 1}], \"b\": 2}"),
            (std::vector<std::string>{"1 a=t:[{\"a\":1}]", "1 b=i:2", "1 end"}));
}

TEST(JsonlReader, WhatNoColumnHoldsIsToldWithTheMember) {
  const std::pair<const char*, const char*> cases[] = {
      {"18446744073709551616", "Corrupt: line 1: 'v' is 18446744073709551616, and 64 bits do not hold it"},
      {"-9223372036854775809", "Corrupt: line 1: 'v' is -9223372036854775809, and 64 bits"},
      {"null", "Corrupt: line 1: 'v' is null"},
      {"1e999", "Corrupt: line 1: no valid JSON"},
      {"NaN", "Corrupt: line 1: 'NaN' at character"},
      {"01", "Corrupt: line 1: no valid JSON"},
      {"+1", "Corrupt: line 1: no valid JSON"},
      {"'x'", "Corrupt: line 1: no valid JSON"},
      {"\"\\ud83d\"", "Corrupt: line 1: no valid JSON"},
      {"\"\xff\"", "Corrupt: line 1: no valid JSON"},
      {"1,", "Corrupt: line 1: no valid JSON"},
      {"1 // one", "Corrupt: line 1: no valid JSON"},
  };
  for (const auto& [json, message] : cases) {
    const std::string told = members(std::string("{\"v\": ") + json + "}").back();
    EXPECT_TRUE(told.starts_with(message)) << json << ": " << told;
  }
}

TEST(JsonlReader, LinesAreCountedWhateverEndsThemAndInPiecesOfAnySize) {
  const std::string text = "\xef\xbb\xbf{\"a\": 1}\r\n\n \t\r\n{\"a\": 2}\n{}\n{\"b\": true}";
  const std::vector<std::string> seen = {"1 a=i:1", "1 end", "4 a=i:2", "4 end", "5 end", "6 b=b:true", "6 end"};
  for (size_t step = 1; step <= text.size(); ++step) EXPECT_EQ(members(text, step), seen) << step;
  EXPECT_TRUE(members("").empty());
  EXPECT_TRUE(members("\xef\xbb\xbf").empty());
}

TEST(JsonlReader, MoreOrLessThanOneObjectALineIsToldWithTheLine) {
  for (const char* line : {"{} {}", "{\"a\": 1}}", "{\"a\": 1", "{\"a\"", "[{}]", "1", "\"x\"", "null", "true", "1.5",
                           "{a: 1}", "{\"a\": 1,}", "18446744073709551616"}) {
    for (const char* end : {"", "\n", "\n{\"later\": 1}\n"}) {
      const auto seen = members(std::string("{}\n\n") + line + end);
      EXPECT_EQ(seen.back().find("Corrupt: line 3: "), 0u) << line << ": " << seen.back();
    }
  }
}

TEST(JsonlReader, ALineMayBeAsLongAsTheCapAndNoLonger) {
  const std::string head = "{\"a\": \"", tail = "\"}";
  const std::string fits = head + std::string(JsonlReader::kMaxLineBytes - head.size() - tail.size(), 'x') + tail;
  for (const size_t step : {size_t{1} << 20, fits.size() + 10}) {
    EXPECT_EQ(members(fits + "\n{}", step).back(), "2 end");
    EXPECT_EQ(members("{}\n " + fits, step).back(), "Corrupt: line 2: longer than 16777216 bytes");
  }
}

TEST(JsonlReader, WhatTheSinkSaysEndsTheReadingAtOnce) {
  WrittenDown sink;
  sink.answer = unsupported("of the sink");
  const Status status = read_lines("{\"a\": 1}\n{\"stop\": 1, \"b\": 2}\n{\"c\": 3}\n", sink);
  EXPECT_EQ(status.to_string(), sink.answer.to_string());
  EXPECT_EQ(sink.seen.back(), "2 stop=i:1");
}

}  // namespace
}  // namespace forebay
