#include "telemetry/log_histogram.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace forebay {
namespace {

using Small = LogHistogram<2, 2, 3>;  // bounds 4, 16, 64

TEST(LogHistogram, a_bound_belongs_to_the_range_that_it_ends) {
  EXPECT_EQ(Small::range_of(0), 0u);
  EXPECT_EQ(Small::range_of(4), 0u);
  EXPECT_EQ(Small::range_of(5), 1u);
  EXPECT_EQ(Small::range_of(16), 1u);
  EXPECT_EQ(Small::range_of(17), 2u);
  EXPECT_EQ(Small::range_of(64), 2u);
  EXPECT_EQ(Small::range_of(65), 3u);
  EXPECT_EQ(Small::range_of(~uint64_t{0}), 3u);
}

TEST(LogHistogram, every_value_lies_between_the_bounds_of_its_range) {
  const Histogram bounds = SizeHistogram().snapshot();
  for (uint64_t value = 1; value < uint64_t{1} << 40; value += 1 + value / 3) {
    const size_t range = SizeHistogram::range_of(value);
    if (range < bounds.bounds.size()) {
      EXPECT_LE(static_cast<double>(value), bounds.bounds[range]) << value;
    }
    if (range > 0) {
      EXPECT_GT(static_cast<double>(value), bounds.bounds[range - 1]) << value;
    }
  }
}

TEST(LogHistogram, nothing_is_lost_when_many_threads_count) {
  Small histogram;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < 1000; ++i) histogram.add(i % 100);
    });
  }
  threads.clear();
  const Histogram all = histogram.snapshot(0.5);
  EXPECT_EQ(all.count(), 4000u);
  EXPECT_EQ(all.counts, (std::vector<uint64_t>{200, 480, 1920, 1400}));
  EXPECT_EQ(all.bounds, (std::vector<double>{2, 8, 32}));
  EXPECT_EQ(all.sum, 0.5 * 40 * 4950);
}

}  // namespace
}  // namespace forebay
