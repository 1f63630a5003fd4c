#include "loader/error_log.h"

#include <gtest/gtest.h>

#include <cmath>

namespace forebay {
namespace {

RowError error(int64_t id, const char* op = "decode_image") {
  return {0, id, corrupt("broken").with_operator(op).with_key("k" + std::to_string(id)).with_sample(id), false};
}

TEST(ErrorLog, one_entry_per_sample_and_operator_with_a_count) {
  ErrorLog log(std::nullopt);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(log.add(i, error(7)).ok());
  EXPECT_TRUE(log.add(0, error(7, "resize")).ok());
  EXPECT_TRUE(log.add(0, error(8)).ok());
  ASSERT_EQ(log.entries().size(), 3u);
  EXPECT_EQ(log.entries()[0].count, 3);
  EXPECT_EQ(log.entries()[0].key, "k7");
  EXPECT_EQ(log.entries()[0].code, "Corrupt");
  EXPECT_EQ(log.entries()[0].op, "decode_image");
  EXPECT_EQ(log.entries()[0].message, "broken");
  EXPECT_EQ(log.total(), 5);
}

TEST(ErrorLog, is_bounded_and_goes_on_counting) {
  ErrorLog log(std::nullopt);
  for (int64_t id = 0; id < 12'000; ++id) EXPECT_TRUE(log.add(0, error(id)).ok());
  EXPECT_TRUE(log.add(0, error(5)).ok());
  EXPECT_EQ(log.entries().size(), ErrorLog::kMaxEntries);
  EXPECT_EQ(log.entries()[5].count, 2);
  EXPECT_EQ(log.total(), 12'001);
}

TEST(ErrorLog, the_sample_after_the_last_allowed_one_is_raised) {
  ErrorLog log(2);
  EXPECT_TRUE(log.add(0, error(1)).ok());
  EXPECT_TRUE(log.add(0, error(7'000)).ok());
  const Status status = log.add(0, error(2));
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_EQ(status.key(), "k2");
  EXPECT_EQ(status.sample(), 2);
  EXPECT_NE(status.message().find("max_errors"), std::string::npos);
  EXPECT_FALSE(log.add(0, error(1)).ok());  // further errors fail, too
  EXPECT_FALSE(ErrorLog(0).add(0, error(1)).ok());
}

TEST(ErrorLog, counts_different_samples_of_an_epoch) {
  ErrorLog log(2);
  EXPECT_TRUE(log.add(ErrorLog::kFilterPass, error(3)).ok());
  EXPECT_TRUE(log.add(ErrorLog::kFilterPass, error(4)).ok());
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    for (int i = 0; i < 4; ++i) {  // a bad replacement is met again and again
      EXPECT_TRUE(log.add(epoch, error(1)).ok());
      EXPECT_TRUE(log.add(epoch, error(1 + epoch, "resize")).ok());
    }
  }
  EXPECT_EQ(log.total(), 42);
}

TEST(ErrorLog, limits_are_counts_or_shares) {
  EXPECT_EQ(*error_limit(std::nullopt, 1000), std::nullopt);
  EXPECT_EQ(*error_limit(ErrorLimit(0), 1000), 0);
  EXPECT_EQ(*error_limit(ErrorLimit(1), 1000), 1);
  EXPECT_EQ(*error_limit(ErrorLimit(0.0), 1000), 0);
  EXPECT_EQ(*error_limit(ErrorLimit(0.01), 1000), 10);
  EXPECT_EQ(*error_limit(ErrorLimit(0.9999), 10), 9);
  for (int percent = 0; percent < 100; ++percent) EXPECT_EQ(*error_limit(ErrorLimit(percent / 100.0), 100), percent);
  EXPECT_EQ(*error_limit(ErrorLimit(1.0), 10), std::nullopt);  // all samples may be bad
  EXPECT_EQ(*error_limit(ErrorLimit(10), 10), std::nullopt);
  EXPECT_EQ(*error_limit(ErrorLimit(INT64_MAX), 10), std::nullopt);
  EXPECT_EQ(*error_limit(ErrorLimit(1.0), INT64_MAX), std::nullopt);
  for (const double share : {-0.5, -1e-300, 1.0000001, 1.5, 1e300, std::nan(""), HUGE_VAL})
    EXPECT_FALSE(error_limit(ErrorLimit(share), 10).ok()) << share;
  EXPECT_FALSE(error_limit(ErrorLimit(-1), 10).ok());
}

}  // namespace
}  // namespace forebay
