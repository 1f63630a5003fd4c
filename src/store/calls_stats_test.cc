#include <gtest/gtest.h>

#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "forebay/stats/store.h"
#include "store/calls.h"

namespace forebay {
namespace {

const auto ignored = [](auto) {};

template <typename T>
std::shared_ptr<Call<T>> asked(CallTable& calls, CallKind what = call_kind_of<T>()) {
  return calls.begin<T>("a", {}, ignored, what);
}

TEST(CallTableStats, each_request_is_counted_as_what_was_asked) {
  CallTable calls;
  asked<Buffer>(calls)->answer(Buffer::allocate(5));
  asked<Buffer>(calls, CallKind::kHead)->answer(Buffer());
  asked<ListPage>(calls)->answer(ListPage());
  asked<ListPage>(calls)->answer(unavailable("away"));
  asked<ObjectInfo>(calls)->answer(ObjectInfo());
  calls.count_immediate(7, true);
  calls.count_immediate(0, false);
  calls.count_open();

  const StoreStats stats = calls.stats();
  EXPECT_EQ(stats.requests, 7u);
  EXPECT_EQ(stats.waited, 1u);
  EXPECT_EQ(stats.immediate, 2u);
  EXPECT_EQ(stats.listings, 2u);
  EXPECT_EQ(stats.heads, 2u);
  EXPECT_EQ(stats.opens, 1u);
  EXPECT_EQ(stats.errors, 2u);
}

TEST(CallTableStats, no_count_ever_falls_whatever_is_asked_meanwhile) {
  CallTable calls;
  std::jthread asking([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      calls.count_immediate(7, true);
      asked<ListPage>(calls)->answer(ListPage());
    }
  });
  uint64_t requests = 0;
  for (int look = 0; look < 20'000; ++look) {
    const StoreStats stats = calls.stats();
    ASSERT_EQ(stats.waited, 0u) << "nobody reads";
    ASSERT_GE(stats.requests, std::exchange(requests, stats.requests));
  }
}

TEST(CallTableStats, histograms_sum_to_the_counts_and_bytes) {
  CallTable calls;
  for (const size_t bytes : {0u, 256u, 257u, 5000u}) asked<Buffer>(calls)->answer(Buffer::allocate(bytes));
  calls.count_immediate(1 << 20, true);
  asked<Buffer>(calls)->answer(not_found("gone"));
  asked<ObjectInfo>(calls)->answer(ObjectInfo());
  const auto waiting = asked<Buffer>(calls);

  const StoreStats stats = calls.stats();
  EXPECT_EQ(stats.read_bytes.count(), 5u) << "one failed, one is no read, one has no answer";
  EXPECT_EQ(stats.read_bytes.counts[0], 2u) << "0 and 256 bytes";
  EXPECT_EQ(stats.read_bytes.sum, static_cast<double>(stats.bytes));
  EXPECT_EQ(stats.bytes, 256u + 257 + 5000 + (1 << 20));
  EXPECT_EQ(stats.latency_seconds.count() + stats.immediate + stats.in_flight, stats.requests);
  EXPECT_EQ(stats.latency_seconds.sum, stats.seconds);
  EXPECT_EQ(stats.in_flight, 1u);
  waiting->answer(Buffer());
  EXPECT_EQ(calls.stats().latency_seconds.count() + stats.immediate, stats.requests);
}

}  // namespace
}  // namespace forebay
