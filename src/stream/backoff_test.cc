#include "stream/backoff.h"

#include <gtest/gtest.h>

#include "stream/manual_clock_test_support.h"

namespace forebay {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, doubles_from_20_ms_to_2_s_and_begins_anew_after_a_success) {
  Backoff backoff;
  std::vector<std::chrono::milliseconds> waits;
  for (int i = 0; i < 9; ++i) waits.push_back(backoff.next());
  EXPECT_EQ(waits, (std::vector<std::chrono::milliseconds>{20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1280ms, 2s, 2s}));
  backoff.reset();
  EXPECT_EQ(backoff.next(), 20ms);
}

TEST(AskUntilAvailable, asks_again_while_the_server_is_unavailable) {
  ManualClock clock;
  int asked = 0;
  const auto ask = [&]() -> Result<int> { return ++asked < 4 ? Result<int>(unavailable("not yet")) : asked; };
  const Result<int> answer = retry_until_available(ask, 30s, clock, {});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(*answer, 4);
  EXPECT_EQ(clock.passed(), 20ms + 40ms + 80ms);
}

TEST(AskUntilAvailable, gives_up_after_its_patience_with_the_last_reason) {
  ManualClock clock;
  int asked = 0;
  const auto ask = [&]() -> Result<int> { return unavailable("try " + std::to_string(++asked)); };
  const Result<int> answer = retry_until_available(ask, 30s, clock, {});
  EXPECT_EQ(answer.status().code(), Code::kUnavailable);
  EXPECT_EQ(answer.status().message(), "try " + std::to_string(asked));
  EXPECT_GE(clock.passed(), 30s);
  EXPECT_LT(clock.passed(), 30s + Backoff::kLongest);
}

TEST(AskUntilAvailable, asks_once_if_another_try_cannot_help_or_a_stop_is_requested) {
  ManualClock clock;
  int asked = 0;
  const auto refuse = [&]() -> Result<int> { return ++asked, invalid_argument("no permission"); };
  EXPECT_EQ(retry_until_available(refuse, 30s, clock, {}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(asked, 1);
  std::stop_source stop;
  stop.request_stop();
  const auto ask = [&]() -> Result<int> { return ++asked, unavailable("not yet"); };
  EXPECT_EQ(retry_until_available(ask, 30s, clock, stop.get_token()).status().code(), Code::kUnavailable);
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace forebay
