#include "materialize/row_feed.h"

#include <numeric>
#include <stdexcept>
#include <stop_token>
#include <vector>

#include <gtest/gtest.h>

#include "study/study_test_support.h"

namespace forebay {
namespace {

// A loader whose sample i is the number i.
std::shared_ptr<Loader> counting(int64_t count, int64_t batch) {
  LoaderOptions options;
  options.epochs.reset();
  return *Loader::open(numbers(count).batch(batch), options);
}

std::vector<float> take(RowFeed& feed, int64_t count) {
  std::vector<float> got;
  while (static_cast<int64_t>(got.size()) < count) {
    const auto rows = feed.next(count - static_cast<int64_t>(got.size()));
    EXPECT_TRUE(rows.ok()) << rows.status().to_string();
    if (!rows.ok()) break;
    EXPECT_LT(rows->begin, rows->end);
    for (int64_t row = rows->begin; row < rows->end; ++row)
      got.push_back(rows->batch->fields[0].values.data<float>()[row]);
  }
  return got;
}

std::vector<float> from(int first, int count) {
  std::vector<float> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), static_cast<float>(first));
  return numbers;
}

TEST(RowFeed, GivesAllInTheOrderOfIdsInAnyPieces) {
  for (const int64_t batch : {1, 7, 100}) {
    const TrialContext context;
    RowFeed feed(counting(50, batch), context, batch);
    EXPECT_EQ(take(feed, 3), from(0, 3));
    EXPECT_EQ(take(feed, 20), from(3, 20));
    EXPECT_EQ(take(feed, 27), from(23, 27)) << "to the last";
  }
}

TEST(RowFeed, GoesToAnySampleForwardsAndBack) {
  const TrialContext context;
  RowFeed feed(counting(50, 7), context, 7);
  for (const int first : {0, 40, 3, 3, 10, 17, 49, 0}) {
    ASSERT_TRUE(feed.seek(first).ok());
    EXPECT_EQ(take(feed, 1), from(first, 1));
    if (first < 45) {
      EXPECT_EQ(take(feed, 4), from(first + 1, 4));
    }
  }
}

TEST(RowFeed, StopsWhenItIsAsked) {
  std::stop_source stop;
  stop.request_stop();
  const TrialContext context{{}, stop.get_token(), {}};
  RowFeed feed(counting(50, 7), context, 7);
  EXPECT_EQ(feed.next(1).status().code(), Code::kCancelled);
}

TEST(RowFeed, ExceptionsOfPollPassThroughTheFeed) {
  const TrialContext context{{}, {}, [] { throw std::runtime_error("interrupted"); }};
  RowFeed feed(counting(50, 7), context, 7);
  EXPECT_THROW((void)feed.next(1), std::runtime_error);
}

TEST(RowFeed, SamplesThatAreLeftOutAreNoGap) {
  LoaderOptions options;
  options.epochs.reset();
  options.errors.on_error = OnError::kSkip;
  const Pipeline some_bad = numbers(20).map(
      [](Sample& sample) { return *sample["x"].data<float>() == 5 ? Status(Code::kCorrupt, "bad") : Status(); }, {});
  const TrialContext context;
  RowFeed feed(*Loader::open(some_bad.batch(4), options), context, 4);
  Status status;
  for (int i = 0; i < 20 && status.ok(); ++i) status = feed.next(1).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.to_string().find("on_error"), std::string::npos);
}

}  // namespace
}  // namespace forebay
