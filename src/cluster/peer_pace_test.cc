#include "cluster/peer_pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace forebay {

namespace {

using std::chrono::milliseconds;

constexpr uint64_t kLeast = 64 << 10, kFirst = 256 << 10, kMost = 8 << 20;

/// Many hosts that read entries from one host, each with as many reads in flight as allowed. The
/// host's responses queue for its link.
struct SlowLink {
  double bytes_per_second;
  size_t askers;
  uint64_t entry;

  struct Found {
    PeerPace::Time longest{0};  ///< of a response, in the second half
    double busy = 0;            ///< share of the time in which the link was busy
  };
  Found run(PeerPace::Time in_all) const {
    std::vector<PeerPace> paces(askers, PeerPace(kLeast, kFirst, kMost));
    std::vector<uint64_t> asked(askers);
    struct Answer {
      size_t asker;
      PeerPace::Time asked, comes;
      bool all;
    };
    std::deque<Answer> on_the_way;
    const PeerPace::Time there(milliseconds(1)),
        sending(static_cast<int64_t>(1e9 * static_cast<double>(entry) / bytes_per_second));
    PeerPace::Time now{0}, busy_until{0}, busy{0};
    Found found;
    while (now < in_all) {
      for (size_t i = 0; i < askers; ++i) {
        while (asked[i] == 0 || asked[i] + entry <= paces[i].allowed()) {
          asked[i] += entry;
          busy_until = std::max(busy_until, now + there) + sending;
          busy += sending;
          on_the_way.push_back({i, now, busy_until + there, asked[i] > paces[i].allowed() / 2});
        }
      }
      const Answer next = on_the_way.front();
      on_the_way.pop_front();
      now = next.comes;
      asked[next.asker] -= entry;
      paces[next.asker].answered(next.asked, now, entry, next.all);
      if (now > in_all / 2) found.longest = std::max(found.longest, now - next.asked);
    }
    found.busy = static_cast<double>(busy.count()) / static_cast<double>(busy_until.count());
    return found;
  }
};

}  // namespace

TEST(PeerPace, AnswersComeSoonHoweverSlowTheLinkAndHoweverManyAskAndItIsKeptBusy) {
  for (const double rate : {3e6, 5e6, 12e6, 125e6}) {
    for (const size_t askers : {1, 3, 7}) {
      for (const uint64_t entry : {2'000, 20'000, 60'000}) {
        const SlowLink::Found found = SlowLink{rate, askers, entry}.run(std::chrono::seconds(20));
        EXPECT_LT(found.longest, milliseconds(700)) << rate << " " << askers << " " << entry;
        EXPECT_GT(found.busy, 0.95) << rate << " " << askers << " " << entry;
      }
    }
  }
}

TEST(PeerPace, AFastLinkMaySoonBringAsMuchAsThereMayBe) {
  PeerPace pace(kLeast, kFirst, kMost);
  PeerPace::Time now{0};
  int times = 0;
  for (; pace.allowed() < kMost; ++times) {
    const PeerPace::Time asked = now;
    now += milliseconds(2);
    pace.answered(asked, now, pace.allowed(), true);
  }
  EXPECT_LE(times, 5);
}

TEST(PeerPace, WhatIsFarAwayHasNotWaited) {
  PeerPace pace(kLeast, kFirst, kMost);
  for (int i = 0; i < 10; ++i)
    pace.answered(milliseconds(1000 * i), milliseconds(1000 * i + 900), pace.allowed(), true);
  EXPECT_EQ(pace.allowed(), kMost);
}

TEST(PeerPace, WhoAsksForLittleLearnsNothingOfMore) {
  PeerPace pace(kLeast, kFirst, kMost);
  for (int i = 0; i < 100; ++i) {
    pace.answered(milliseconds(i), milliseconds(i + 1), 1000, false);
    pace.answered(milliseconds(i), milliseconds(i + 1), 0, true);
  }
  EXPECT_EQ(pace.allowed(), kFirst);
}

TEST(PeerPace, ThoseThatWaitedForEachOtherAreOneReasonForLess) {
  PeerPace pace(kLeast, kFirst, kMost);
  pace.answered(milliseconds(0), milliseconds(1), 1000, true);
  const uint64_t before = pace.allowed();
  for (int i = 0; i < 8; ++i) pace.answered(milliseconds(2 + i), milliseconds(502 + i), 1000, true);
  EXPECT_GE(pace.allowed(), before / 2);
  EXPECT_LT(pace.allowed(), before);
  for (int i = 1; i < 8; ++i) pace.answered(milliseconds(600 * i), milliseconds(600 * i + 590), 1000, true);
  EXPECT_EQ(pace.allowed(), kLeast);
}

}  // namespace forebay
