#include "store/slow/slow_store.h"

#include "forebay/stats/store.h"
#include "store/conformance.h"
#include "store/memory/memory_store.h"

namespace forebay::conformance {

namespace {

using namespace std::chrono_literals;

std::shared_ptr<MemoryStore> filled(const Objects& objects) {
  auto store = memory_store();
  for (const auto& [key, bytes] : objects) store->put(key, std::string_view(bytes));
  return store;
}

const SlowOptions kManual = {.seed = 7, .latency_ms = 10, .jitter_ms = 5, .manual_clock = true};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Slow, StoreConformance,
                         testing::Values(Driver{"no_delay", [](const Objects& o) { return slow_store(filled(o), {}); }},
                                         Driver{"some_delay", [](const Objects& o) {
                                                  return slow_store(filled(o),
                                                                    {.seed = 1, .latency_ms = 0.2, .jitter_ms = 0.3});
                                                }}));

TEST(SlowStore, AnswersAfterTheDelayAndNotBefore) {
  const auto store = slow_store(filled({{"x", "1"}}), kManual);
  Answers<Buffer> answers;
  store->read(whole("x"), {}, answers.take());
  const auto delay = store->delay("x", 0, 1);
  EXPECT_GE(delay, 10ms);
  EXPECT_LT(delay, 15ms);
  store->advance(delay - 1ns);
  EXPECT_EQ(answers.count(), 0u);
  EXPECT_EQ(store->stats().in_flight, 1u);
  store->advance(1ns);
  EXPECT_EQ(answers.count(), 1u);
  EXPECT_FALSE(store->reads_now());
  EXPECT_FALSE(store->read_now(whole("x")).has_value());
}

TEST(SlowStore, DelaysDependOnSeedKeyAndCountAlone) {
  const auto store = slow_store(filled({{"x", "1"}, {"y", "1"}}), kManual);
  const auto again = slow_store(filled({{"x", "1"}}), kManual);
  SlowOptions other_seed = kManual;
  other_seed.seed = 8;
  const auto other = slow_store(filled({}), other_seed);
  EXPECT_EQ(store->delay("x", 3, 1), again->delay("x", 3, 1));
  EXPECT_NE(store->delay("x", 3, 1), store->delay("x", 4, 1));
  EXPECT_NE(store->delay("x", 3, 1), store->delay("y", 3, 1));
  EXPECT_NE(store->delay("x", 3, 1), other->delay("x", 3, 1));

  // The second request for x takes the second delay, whatever came between.
  Answers<Buffer> first, second;
  store->read(whole("x"), {}, first.take());
  store->read(whole("y"), {}, first.take());
  store->advance(1s);
  store->read(whole("x"), {}, second.take());
  store->advance(store->delay("x", 1, 1) - 1ns);
  EXPECT_EQ(second.count(), 0u);
  store->advance(1ns);
  EXPECT_EQ(second.count(), 1u);
}

TEST(SlowStore, BandwidthAddsTheTimeOfTheBytes) {
  SlowOptions options = {.bandwidth_bytes_per_s = 1000, .manual_clock = true};
  const auto store = slow_store(filled({{"x", std::string(500, 'x')}}), options);
  Answers<Buffer> answers;
  store->read(whole("x"), {}, answers.take());
  store->advance(499ms);
  EXPECT_EQ(answers.count(), 0u);
  store->advance(1ms);
  EXPECT_EQ(answers.count(), 1u);
}

TEST(SlowStore, FailsTheShareOfRequestsThatWasAskedFor) {
  SlowOptions options = {.seed = 3, .error_rate = 0.2, .manual_clock = true};
  const auto store = slow_store(filled({{"x", "1"}}), options);
  int failed = 0;
  for (uint32_t i = 0; i < 5000; ++i) {
    Answers<Buffer> answers;
    store->read(whole("x"), {}, answers.take());
    store->advance(0ns);
    ASSERT_EQ(answers.count(), 1u);
    const Code code = answers.codes()[0];
    EXPECT_EQ(code, store->fails("x", i) ? Code::kUnavailable : Code::kOk);
    failed += code == Code::kUnavailable ? 1 : 0;
  }
  EXPECT_NEAR(failed, 1000, 120);
}

TEST(SlowStore, AStopAnswersAtOnceThoughTimeStandsStill) {
  const auto store = slow_store(filled({{"x", "1"}}), kManual);
  Answers<Buffer> answers;
  std::stop_source stop;
  store->read(whole("x"), stop.get_token(), answers.take());
  stop.request_stop();
  ASSERT_EQ(answers.codes(), std::vector<Code>{Code::kCancelled});
  store->advance(1s);
  EXPECT_EQ(answers.count(), 1u);
}

TEST(SlowStore, TheEndDoesNotWaitForDelays) {
  auto store = slow_store(filled({{"x", "1"}}), {.latency_ms = 3'600'000});
  Answers<Buffer> answers;
  for (int i = 0; i < 100; ++i) store->read(whole("x"), {}, answers.take());
  store.reset();
  EXPECT_EQ(answers.codes(), std::vector<Code>(100, Code::kCancelled));
}

TEST(SlowStore, WrapsASlowStore) {
  auto inner = slow_store(filled({{"x", "1"}}), {.latency_ms = 0.5});
  auto outer = slow_store(inner, {.latency_ms = 0.5});
  inner.reset();
  EXPECT_TRUE(read_wait(*outer, whole("x"), {}).ok());
}

}  // namespace forebay::conformance
