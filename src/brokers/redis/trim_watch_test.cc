#include "brokers/redis/trim_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace forebay {

namespace {

/// A simulated Redis stream with entries 1-0, 2-0, …, of which the first ones are trimmed.
struct PlainStream {
  uint64_t made = 0, trimmed = 0;
  StreamId deleted;
  bool counts = true;

  StreamInfo info() const {
    StreamInfo info{true, made - trimmed, {}, {}, {made, 0}, deleted};
    if (counts) info.added = made;
    if (info.length > 0) info.first = {trimmed + 1, 0};
    return info;
  }
  std::vector<StreamId> read(StreamId after, uint64_t most) const {
    std::vector<StreamId> ids;
    for (uint64_t i = std::max(after.ms, trimmed) + 1; i <= made && ids.size() < most; ++i) ids.push_back({i, 0});
    return ids;
  }
};

}  // namespace

TEST(TrimWatch, WhatIsGoneFromTheFirstEntryOnIsMissingForWhoHasReadIt) {
  PlainStream stream;
  stream.made = 10;
  EXPECT_FALSE(TrimWatch::check_first(stream.info()));
  stream.trimmed = 3;
  auto found = TrimWatch::check_first(stream.info());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->entries, 3);
  EXPECT_EQ(found->until, (StreamId{4, 0}));
  stream.counts = false;
  EXPECT_FALSE(TrimWatch::check_first(stream.info())) << "such a server cannot tell";
  stream.trimmed = 10;
  found = TrimWatch::check_first(stream.info());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->until, StreamId{});
  EXPECT_TRUE(TrimWatch::check_first({})) << "it is gone as a whole";
}

struct WatchedEnd {
  PlainStream stream;
  EndWatch watch;
  EndWatch::EndState check(int64_t after, bool nothing_read) {
    return watch.check(stream.info(), {7, 0}, nothing_read,
                       EndWatch::Clock::time_point() + after * EndWatch::kConfirmAfter);
  }
};

TEST(EndWatch, AStreamThatEndsBeforeWhatWasReadIsMadeAnewOnceThatHasLasted) {
  WatchedEnd end;
  end.stream.made = 6;  // a replica that lags
  EXPECT_EQ(end.check(0, true), EndWatch::EndState::kEndsBeforePosition);
  end.stream.made = 7;
  EXPECT_EQ(end.check(1, true), EndWatch::EndState::kContinues);
  end.stream.made = 3;
  EXPECT_EQ(end.check(2, true), EndWatch::EndState::kEndsBeforePosition);
  EXPECT_EQ(end.check(3, true), EndWatch::EndState::kRecreated);
  EXPECT_EQ(end.watch.check({}, {7, 0}, true, EndWatch::Clock::now()), EndWatch::EndState::kContinues)
      << "it may come yet";
}

TEST(EndWatch, WhoHasReadWhatTheServerLostWaitsUntilSomethingIsAddedBeforeThat) {
  WatchedEnd end;
  end.stream.made = 3;
  EXPECT_EQ(end.check(0, false), EndWatch::EndState::kEndsBeforePosition);
  EXPECT_EQ(end.check(100, false), EndWatch::EndState::kEndsBeforePosition);
  end.stream.made = 4;
  EXPECT_EQ(end.check(101, false), EndWatch::EndState::kRecreated);
}

TEST(TrimWatch, WhateverHappensBetweenWhatIsMissingIsCounted) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    PlainStream stream;
    TrimWatch watch;
    StreamId position;
    uint64_t missing = 0, lost = 0;
    for (int step = 0; step < 100; ++step) {
      stream.made += random() % 20;
      if (random() % 3 == 0) stream.trimmed += random() % (stream.made - stream.trimmed + 1);
      if (random() % 10 == 0) {  // a new connection
        const auto found = watch.check_position(stream.info(), position);
        ASSERT_TRUE(!found || found->entries) << "the one before knew where it was";
        if (found) missing += static_cast<uint64_t>(*found->entries), position = {stream.trimmed, 0};
        lost += stream.trimmed > position.ms ? stream.trimmed - position.ms : 0;
        if (found) lost = missing;
      }
      const std::vector<StreamId> read = stream.read(position, 1 + random() % 30);
      if (read.empty()) continue;
      const uint64_t gap = position == StreamId{} ? 0 : read.front().ms - position.ms - 1;
      const auto found = watch.check_read(stream.info(), position, read);
      EXPECT_EQ(found ? *found->entries : 0, static_cast<int64_t>(gap)) << "seed " << seed << " step " << step;
      position = read.back();
    }
  }
}

TEST(TrimWatch, APositionThatIsForgottenIsAGapOfUnknownLength) {
  PlainStream stream{100, 40, {}, true};
  const auto missing = TrimWatch().check_position(stream.info(), {20, 0});
  ASSERT_TRUE(missing);
  EXPECT_FALSE(missing->entries);
  EXPECT_EQ(missing->until, (StreamId{41, 0}));
  EXPECT_FALSE(TrimWatch().check_position(stream.info(), {41, 0}));
  EXPECT_FALSE(TrimWatch().check_position(stream.info(), {}));
  EXPECT_TRUE(TrimWatch().check_position(StreamInfo{}, {1, 0})) << "the stream is gone";
}

TEST(TrimWatch, EntriesThatWereDeletedAreNotTakenForTrimmed) {
  PlainStream stream{10, 0, {}, true};
  TrimWatch watch;
  const std::vector<StreamId> all = stream.read({}, 10);
  EXPECT_FALSE(watch.check_read(stream.info(), {}, all));
  stream.made = 20;
  stream.deleted = {15, 0};
  std::vector<StreamId> rest = stream.read({10, 0}, 10);
  std::erase(rest, StreamId{15, 0});
  StreamInfo info = stream.info();
  --info.length;
  EXPECT_FALSE(watch.check_read(info, {10, 0}, rest));
  stream = {21, 20, {15, 0}, true};
  EXPECT_FALSE(watch.check_read(stream.info(), {20, 0}, stream.read({20, 0}, 10)));
}

TEST(TrimWatch, AServerThatDoesNotCountIsBelieved) {
  PlainStream stream{50, 0, {}, false};
  TrimWatch watch;
  EXPECT_FALSE(watch.check_read(stream.info(), {}, stream.read({}, 10)));
  stream.trimmed = 30;
  EXPECT_FALSE(watch.check_read(stream.info(), {10, 0}, stream.read({10, 0}, 10)));
  EXPECT_TRUE(watch.check_position(stream.info(), {20, 0}));
}

}  // namespace forebay
