#include "format/table/iso_time.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace forebay {
namespace {

constexpr int64_t kDaySeconds = 86'400;
constexpr int64_t kDayNanos = kDaySeconds * 1'000'000'000;

/// "5", "5.5" between two ticks, or "none".
std::string ticks_text(std::string_view text, int64_t per_day) {
  const auto parsed = parse_iso_time(text, per_day);
  if (!parsed) return "none";
  if (const auto* whole = std::get_if<int64_t>(&*parsed)) return std::to_string(*whole);
  return fmt::format("{}", std::get<double>(*parsed));
}

struct TimeCase {
  const char* text;
  int64_t per_day;
  const char* ticks;
};

TEST(IsoTime, every_way_to_write_a_moment_gives_its_tick) {
  const TimeCase cases[] = {
      {"2000-02-29", 1, "11016"},
      {"0000-01-01", 1, "-719528"},
      {"9999-12-31", 1, "2932896"},
      {"1970-01-01T00:01", kDaySeconds, "60"},
      {"1970-01-01T23:59:59Z", kDaySeconds, "86399"},
      {"1970-01-01 00:00:00-14:00", kDaySeconds, "50400"},
      {"1970-01-01T00:00+05:30", kDaySeconds, "-19800"},
      {"1970-01-01T00:00:00.000000001Z", kDayNanos, "1"},
      {"1970-01-01T00:00:00.1", kDayNanos, "100000000"},
      {"1969-12-31T23:59:59.999999999", kDayNanos, "-1"},
      {"2262-04-11T23:47:16.854775807Z", kDayNanos, "9223372036854775807"},
      {"1677-09-21T00:12:43.145224192Z", kDayNanos, "-9223372036854775808"},
  };
  for (const TimeCase& one : cases) EXPECT_EQ(ticks_text(one.text, one.per_day), one.ticks) << one.text;
}

TEST(IsoTime, a_moment_between_two_ticks_lies_between_them_also_before_1970) {
  const TimeCase cases[] = {
      {"1970-01-01T00:00:00.5", kDaySeconds, "0.5"},
      {"1970-01-01T00:00:00.000000001", kDaySeconds, "0.5"},
      {"1970-01-01T23:59:59", 1, "0.5"},
      {"1969-12-31T12:00", 1, "-0.5"},
      {"1969-12-31T23:59:58.25", kDaySeconds, "-1.5"},
  };
  for (const TimeCase& one : cases) EXPECT_EQ(ticks_text(one.text, one.per_day), one.ticks) << one.text;
}

TEST(IsoTime, what_64_bits_do_not_hold_is_no_time_of_the_column) {
  EXPECT_EQ(ticks_text("2262-04-11T23:47:16.854775808Z", kDayNanos), "none");
  EXPECT_EQ(ticks_text("1677-09-21T00:12:43.145224191Z", kDayNanos), "none");
  EXPECT_EQ(ticks_text("9999-12-31T23:59:59.999999999", kDayNanos), "none");
  EXPECT_EQ(ticks_text("9999-12-31", kDaySeconds * 1'000'000), "253402214400000000") << "microseconds go further";
}

TEST(IsoTime, what_is_no_moment_is_refused) {
  for (const char* wrong : {"1900-02-29",
                            "2026-00-01",
                            "2026-04-31",
                            "2026-01-00",
                            "12026-01-01",
                            "2026-1-01",
                            "2026-01-1",
                            "2026-01-31T",
                            "2026-01-31Z",
                            "2026-01-31+01:00",
                            "2026-01-31t10:00",
                            "2026-01-31T24:00",
                            "2026-01-31T23:60",
                            "2026-01-31T23:59:60",
                            "2026-01-31T10:00:00,5",
                            "2026-01-31T10:00.5",
                            "2026-01-31T10:00:00.0123456789",
                            "2026-01-31T10:00:00.Z",
                            "2026-01-31T10:00+15:00",
                            "2026-01-31T10:00+01:60",
                            "2026-01-31T10:00+0100",
                            "2026-01-31T10:00ZZ",
                            "2026-01-31T10:00Z ",
                            " 2026-01-31",
                            "2026-01-31 ",
                            "2026-01-31T-1:00",
                            "2026-01-31T+1:00",
                            "+026-01-31",
                            "2026--1-01",
                            "2026-01-31T10:00+-1:00"})
    EXPECT_EQ(ticks_text(wrong, kDaySeconds), "none") << wrong;
}

}  // namespace
}  // namespace forebay
