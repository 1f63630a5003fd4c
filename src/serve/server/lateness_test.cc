#include "serve/server/lateness.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

using std::chrono::milliseconds;

// Returns the sum over `rounds` rounds, each of which has a wait and then a pause.
milliseconds after(int rounds, milliseconds waited, milliseconds between) {
  Lateness member;
  Lateness::Clock::time_point now{};
  for (int i = 0; i < rounds; ++i) {
    member.begin_wait(now);
    now += waited;
    member.end_wait(now);
    now += between;
  }
  return std::chrono::duration_cast<milliseconds>(member.total(now));
}

TEST(Lateness, one_long_time_counts_whole_and_while_it_lasts) {
  Lateness member;
  const Lateness::Clock::time_point now{};
  member.begin_wait(now);
  member.begin_wait(now + milliseconds(500));  // part of the same wait
  EXPECT_EQ(member.total(now + milliseconds(900)), milliseconds(900));
}

TEST(Lateness, short_times_add_up_where_somebody_is_slower_by_much) {
  EXPECT_GE(after(20, milliseconds(100), milliseconds(50)), milliseconds(1000));
}

TEST(Lateness, short_times_are_forgotten_where_somebody_is_as_fast_by_and_large) {
  EXPECT_LE(after(100000, milliseconds(5), milliseconds(100)), milliseconds(5));
}

}  // namespace
}  // namespace forebay
