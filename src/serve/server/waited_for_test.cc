#include "serve/server/waited_for.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

using std::chrono::milliseconds;

// Returns the sum over `rounds` rounds, each of which has a wait and then a pause.
milliseconds after(int rounds, milliseconds waited, milliseconds between) {
  WaitedFor member;
  WaitedFor::Clock::time_point now{};
  for (int i = 0; i < rounds; ++i) {
    member.begin(now);
    now += waited;
    member.end(now);
    now += between;
  }
  return std::chrono::duration_cast<milliseconds>(member.until(now));
}

TEST(WaitedFor, one_long_time_counts_whole_and_while_it_lasts) {
  WaitedFor member;
  const WaitedFor::Clock::time_point now{};
  member.begin(now);
  member.begin(now + milliseconds(500));  // part of the same wait
  EXPECT_EQ(member.until(now + milliseconds(900)), milliseconds(900));
}

TEST(WaitedFor, short_times_add_up_where_somebody_is_slower_by_much) {
  EXPECT_GE(after(20, milliseconds(100), milliseconds(50)), milliseconds(1000));
}

TEST(WaitedFor, short_times_are_forgotten_where_somebody_is_as_fast_by_and_large) {
  EXPECT_LE(after(100000, milliseconds(5), milliseconds(100)), milliseconds(5));
}

}  // namespace
}  // namespace forebay
