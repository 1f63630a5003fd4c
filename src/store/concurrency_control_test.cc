#include "store/concurrency_control.h"

#include <gtest/gtest.h>

#include "store/concurrency_simulation.h"

namespace forebay {
namespace {

class ConcurrencyControlOn : public testing::TestWithParam<SimulatedServer> {};

TEST_P(ConcurrencyControlOn, reaches_nine_tenths_of_the_best_fixed_number) {
  ConcurrencyControl control;
  const Speed found = ConcurrencySimulation(GetParam()).run(&control, 0, 40'000);
  const double best = best_fixed(GetParam(), 20'000);
  std::printf("auto %.0f/s at %d, best fixed %.0f/s\n", found.per_second, found.limit, best);
  EXPECT_GE(found.per_second, 0.9 * best);
}

INSTANTIATE_TEST_SUITE_P(Links, ConcurrencyControlOn,
                         testing::Values(SimulatedServer{.latency_s = 0.1, .per_second = 2700},
                                         SimulatedServer{.latency_s = 0.02, .per_second = 2700},
                                         SimulatedServer{.latency_s = 0.0007, .per_second = 3300},
                                         SimulatedServer{.latency_s = 0.1, .per_second = 400},
                                         SimulatedServer{.latency_s = 0.3, .per_second = 2700},
                                         SimulatedServer{.latency_s = 0.1, .per_second = 2700, .jitter = 1.0},
                                         SimulatedServer{.latency_s = 0.02, .per_second = 2700, .collapses_above = 128},
                                         SimulatedServer{.latency_s = 0.005, .per_second = 50}));

TEST(ConcurrencyControl, stays_near_the_knee_and_not_at_the_most) {
  ConcurrencyControl control;
  const Speed found = ConcurrencySimulation({.latency_s = 0.1, .per_second = 2700}).run(&control, 0, 200'000);
  EXPECT_GE(found.limit, 270) << "what the link holds";
  EXPECT_LE(found.limit, 700);
}

TEST(ConcurrencyControl, doubles_every_round_trip_at_first) {
  ConcurrencyControl control;
  ConcurrencySimulation simulation({.latency_s = 0.1, .per_second = 2700, .jitter = 0.01});
  simulation.run(&control, 0, 64 + 128 + 256);
  EXPECT_GE(control.limit(), 256);
}

TEST(ConcurrencyControl, backs_off_when_it_is_told_to_and_grows_again) {
  ConcurrencyControl control;
  ConcurrencySimulation simulation({.latency_s = 0.02, .per_second = 2700, .throttles_above = 500});
  const Speed throttled = simulation.run(&control, 0, 20'000);
  std::printf("throttled at 500/s: %.0f/s at %d, %lld refused\n", throttled.per_second, throttled.limit,
              static_cast<long long>(throttled.throttled));
  EXPECT_GE(throttled.per_second, 0.8 * 500);
  EXPECT_LE(throttled.throttled, 20'000 / 5);
  simulation.server.throttles_above = 1e12;
  const Speed freed = simulation.run(&control, 0, 40'000);
  EXPECT_GE(freed.per_second, 0.9 * best_fixed(simulation.server, 20'000));
}

TEST(ConcurrencyControl, a_refusal_now_and_then_is_no_reason_to_ask_for_less) {
  ConcurrencyControl control;
  const Speed found =
      ConcurrencySimulation({.latency_s = 0.02, .per_second = 2700, .refuses = 0.02}).run(&control, 0, 40'000);
  std::printf("2 %% refused: %.0f/s at %d\n", found.per_second, found.limit);
  EXPECT_GE(found.per_second, 0.8 * 2700);
}

TEST(ConcurrencyControl, a_user_that_asks_for_little_leaves_the_limit_alone) {
  ConcurrencyControl control;
  const Speed run =
      ConcurrencySimulation({.latency_s = 0.1, .per_second = 2700}).run(&control, 0, 5'000, /*demand_per_second=*/100);
  EXPECT_EQ(run.limit, 64);
  EXPECT_LE(run.most_in_flight, 20);
}

TEST(ConcurrencyControl, finds_the_knee_again_when_the_link_changes) {
  ConcurrencyControl control;
  ConcurrencySimulation simulation({.latency_s = 0.1, .per_second = 500});
  simulation.run(&control, 0, 20'000);
  simulation.server.per_second = 2700;
  const Speed faster = simulation.run(&control, 0, 100'000);
  EXPECT_GE(faster.per_second, 0.9 * 2700);
}

TEST(ConcurrencyControl, never_leaves_its_bounds) {
  ConcurrencyControl control({.start = 4, .least = 2, .most = 8});
  ConcurrencySimulation simulation({.latency_s = 0.1, .per_second = 2700, .throttles_above = 30});
  for (int i = 0; i < 200; ++i) {
    simulation.run(&control, 0, 20);
    ASSERT_GE(control.limit(), 2);
    ASSERT_LE(control.limit(), 8);
  }
}

}  // namespace
}  // namespace forebay
