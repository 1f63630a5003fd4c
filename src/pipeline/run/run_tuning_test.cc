#include "pipeline/run/run_tuning.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(RunTuning, the_time_of_threads_is_that_of_each_for_as_long_as_it_was_there) {
  RunTuning tuning(4, 16);
  tuning.begin(1000);
  EXPECT_EQ(tuning.thread_ns(1010), 40);
  tuning.set_threads(1010, 1, "fewer");
  tuning.set_threads(1030, 2, "more");
  EXPECT_EQ(tuning.threads(), 2);
  EXPECT_EQ(tuning.thread_ns(1100), 4 * 10 + 1 * 20 + 2 * 70);
}

TEST(RunTuning, what_was_decided_is_told_in_order_with_its_reason) {
  RunTuning tuning(4, 16);
  tuning.set_threads(7, 3, "a core went");
  tuning.set_threads(9, 4, "it came back");
  ASSERT_EQ(tuning.decisions().size(), 2u);
  const RunTuning::Decision& first = tuning.decisions().front();
  EXPECT_EQ(first.at_ns, 7);
  EXPECT_EQ(first.what, "threads");
  EXPECT_EQ(first.from, 4);
  EXPECT_EQ(first.to, 3);
  EXPECT_EQ(first.reason, "a core went");
  EXPECT_EQ(tuning.decisions().back().reason, "it came back");
}

TEST(RunTuning, requests_that_feel_their_way_are_no_decision) {
  RunTuning tuning(1, 16);
  for (const int requests : {17, 20, 23, 16, 12, 11}) tuning.record_requests(5, requests);
  EXPECT_TRUE(tuning.decisions().empty());
  tuning.record_requests(6, 24);
  tuning.record_requests(7, 30);
  tuning.record_requests(8, 16);
  ASSERT_EQ(tuning.decisions().size(), 2u);
  EXPECT_EQ(tuning.decisions()[0].to, 24);
  EXPECT_EQ(tuning.decisions()[1].from, 24);
  EXPECT_EQ(tuning.decisions()[1].to, 16);
  EXPECT_NE(tuning.decisions()[0].reason, tuning.decisions()[1].reason);
}

TEST(RunTuning, no_more_decisions_are_kept_than_it_says_and_those_are_the_latest) {
  RunTuning tuning(1, 16);
  for (int i = 0; i < 1000; ++i) tuning.set_threads(i, 1 + i % 2, "to and fro");
  ASSERT_EQ(tuning.decisions().size(), RunTuning::kMost);
  EXPECT_EQ(tuning.decisions().back().at_ns, 999);
  EXPECT_EQ(tuning.decisions().front().at_ns, 1000 - static_cast<int64_t>(RunTuning::kMost));
}

}  // namespace
}  // namespace forebay
