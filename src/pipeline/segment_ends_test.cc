#include "pipeline/segment_ends.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

// Two blocks of eight: one with three segments and padding, one that a sequence fills.
StepPlan two_blocks_of_eight() {
  StepPlan step;
  step.blocks = {{.number = 0, .row = {}, .first = 0}, {.number = 1, .row = {}, .first = 3}};
  step.pieces = {{0, 0, 2, 0}, {1, 0, 1, 2}, {2, 0, 4, 3}, {3, 0, 8, 0}};
  return step;
}

std::vector<int32_t> ends_of(const EndsOfSegments& segments, size_t block) {
  const auto ends = segments.of_block(block);
  return {ends.begin(), ends.end()};
}

TEST(SegmentEnds, PaddingIsASegmentSoThatTheLastEndIsTheLength) {
  const EndsOfSegments segments = ends_of_segments(two_blocks_of_eight(), 8, 0);
  EXPECT_EQ(ends_of(segments, 0), (std::vector<int32_t>{0, 2, 3, 7, 8}));
  EXPECT_EQ(ends_of(segments, 1), (std::vector<int32_t>{0, 8}));
  EXPECT_EQ(segments.longest, (std::vector<int32_t>{4, 8}));
}

TEST(SegmentEnds, AFixedNumberIsFilledUpWithTheLength) {
  const EndsOfSegments segments = ends_of_segments(two_blocks_of_eight(), 8, 6);
  EXPECT_EQ(ends_of(segments, 0), (std::vector<int32_t>{0, 2, 3, 7, 8, 8}));
  EXPECT_EQ(ends_of(segments, 1), (std::vector<int32_t>{0, 8, 8, 8, 8, 8}));
  EXPECT_EQ(segments.longest, (std::vector<int32_t>{4, 8}));
}

TEST(SegmentEnds, ABlockOfPaddingOverShortSegmentsCountsItAsTheLongest) {
  StepPlan step;
  step.blocks = {{.number = 0, .row = {}, .first = 0}};
  step.pieces = {{0, 0, 2, 0}};
  EXPECT_EQ(ends_of_segments(step, 8, 0).longest, (std::vector<int32_t>{6}));
}

TEST(SegmentEnds, NoBlocksHaveNoEnds) {
  const EndsOfSegments segments = ends_of_segments({}, 8, 0);
  EXPECT_TRUE(segments.ends.empty());
  EXPECT_EQ(segments.first, (std::vector<size_t>{0}));
}

}  // namespace
}  // namespace forebay
