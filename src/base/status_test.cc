#include "forebay/status.h"

#include <gtest/gtest.h>

#include "forebay/result.h"

namespace forebay {
namespace {

TEST(Status, success_says_nothing) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::kOk);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.key(), "");
  EXPECT_FALSE(status.sample());
  EXPECT_EQ(status.to_string(), "Ok");
}

TEST(Status, one_line_tells_where_it_happened) {
  const Status status = corrupt("no end-of-image marker")
                            .with_operator("decode_image")
                            .with_key("photos/a.jpg")
                            .with_sample(17)
                            .with_range({4, 6});
  EXPECT_EQ(status.to_string(),
            "Corrupt: photos/a.jpg: decode_image: no end-of-image marker (bytes 4 to 10) (sample 17)");
}

TEST(Status, what_an_inner_layer_said_stays) {
  Status status =
      corrupt("x").with_key("inner").with_operator("inner").with_sample(1).with_range({1, 1}).with_bytes_needed(1);
  status =
      std::move(status).with_key("outer").with_operator("outer").with_sample(2).with_range({2, 2}).with_bytes_needed(2);
  EXPECT_EQ(status.key(), "inner");
  EXPECT_EQ(status.op(), "inner");
  EXPECT_EQ(status.sample(), 1);
  EXPECT_EQ(status.range(), (ByteRange{1, 1}));
  EXPECT_EQ(status.bytes_needed(), 1u);
}

TEST(Status, setters_do_nothing_to_a_success) {
  const Status status = Status().with_key("a").with_operator("b").with_sample(3);
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.key(), "");
}

TEST(Status, a_copy_does_not_change_with_the_original) {
  Status status = corrupt("x");
  const Status copy = status;
  status = std::move(status).with_key("a");
  EXPECT_EQ(status.key(), "a");
  EXPECT_EQ(copy.key(), "");
}

TEST(Status, policies_act_on_data_and_never_on_the_machine_or_transient_errors) {
  for (Code code : {Code::kCorrupt, Code::kUnsupported, Code::kNotFound, Code::kUser})
    EXPECT_TRUE(is_data_error(code)) << code_name(code);
  for (Code code : {Code::kOk, Code::kInvalidArgument, Code::kUnavailable, Code::kOutOfBudget, Code::kCancelled,
                    Code::kStateMismatch, Code::kInternal}) {
    EXPECT_FALSE(is_data_error(code)) << code_name(code);
  }
}

Result<int> half(int x) {
  if (x % 2 != 0) return invalid_argument("odd");
  return x / 2;
}
Result<int> quarter(int x) {
  FOREBAY_ASSIGN(const int once, half(x));
  FOREBAY_ASSIGN(const int twice, half(once));
  return twice;
}

TEST(Result, the_first_error_leaves_the_function) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(quarter(8).status().ok());
}

}  // namespace
}  // namespace forebay
