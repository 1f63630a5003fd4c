#include "base/column_type.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

ColumnType type(std::string_view word) { return parse_column_type(word).value(); }

TEST(ColumnType, words_are_read_as_they_are_written) {
  for (const char* word :
       {"bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
        "float64", "string", "bytes", "datetime64[D]", "datetime64[us]", "timedelta64[ns]"})
    EXPECT_EQ(column_type_word(type(word)), word);
  EXPECT_EQ(type("text"), type("string"));
  const Status wrong = parse_column_type("flaot64").status();
  EXPECT_EQ(wrong.code(), Code::kInvalidArgument);
  EXPECT_NE(wrong.message().find("did you mean 'float64'"), std::string::npos) << wrong.message();
}

struct Union {
  const char *a, *b, *both;
};

TEST(ColumnType, types_are_united_without_loss_or_not_at_all) {
  constexpr Union unions[] = {
      {"int8", "int32", "int32"},
      {"uint8", "uint64", "uint64"},
      {"uint8", "int8", "int16"},
      {"uint32", "int8", "int64"},
      {"uint16", "int64", "int64"},
      {"uint64", "int8", nullptr},
      {"float16", "float64", "float64"},
      {"int8", "float16", "float16"},
      {"int16", "float16", "float32"},
      {"uint32", "float32", "float64"},
      {"int64", "float64", nullptr},
      {"bool", "int8", nullptr},
      {"string", "bytes", nullptr},
      {"string", "int64", nullptr},
      {"datetime64[s]", "datetime64[ns]", "datetime64[ns]"},
      {"datetime64[D]", "datetime64[us]", "datetime64[us]"},
      {"datetime64[us]", "int64", nullptr},
      {"datetime64[s]", "timedelta64[s]", nullptr},
      {"timedelta64[s]", "timedelta64[ms]", "timedelta64[ms]"},
  };
  for (const Union& each : unions) {
    const auto both = common_type(type(each.a), type(each.b));
    EXPECT_EQ(both, common_type(type(each.b), type(each.a)));
    EXPECT_EQ(both ? column_type_word(*both) : "", each.both == nullptr ? "" : each.both) << each.a << " " << each.b;
  }
}

}  // namespace
}  // namespace forebay
