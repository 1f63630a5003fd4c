#include "store/concurrency_control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <random>
#include <vector>

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
  EXPECT_LE(run.max_in_flight, 20);
}

TEST(ConcurrencyControl, finds_the_knee_again_when_the_link_changes) {
  ConcurrencyControl control;
  ConcurrencySimulation simulation({.latency_s = 0.1, .per_second = 500});
  simulation.run(&control, 0, 20'000);
  simulation.server.per_second = 2700;
  const Speed faster = simulation.run(&control, 0, 100'000);
  EXPECT_GE(faster.per_second, 0.9 * 2700);
}

/// Processes that begin within 50 ms of each other to read from a nearby store, which completes 500
/// requests a second over all of them.
class SharedStore {
 public:
  SharedStore(int processes, uint64_t seed) : random_(seed), hosts_(static_cast<size_t>(processes)) {
    for (Host& host : hosts_) {
      host.control.divide_start_among(processes);
      away_.push({std::uniform_real_distribution<double>(0, 0.05)(random_), &host, {}, true});
    }
  }

  /// Returns the most requests that one process had in flight while each read `each` objects.
  int read(int each) {
    for (Host& host : hosts_) host.left = each;
    while (!away_.empty()) {
      const Away next = away_.top();
      away_.pop();
      now_ = next.at;
      if (!next.begins) next.host->control.on_ended(next.sent, ns(), true);
      send(*next.host);
    }
    return std::ranges::max(hosts_, {}, &Host::most).most;
  }

 private:
  struct Host {
    ConcurrencyControl control;
    int left = 0, most = 0;
  };
  struct Away {
    double at;
    Host* host;
    ConcurrencyControl::Sent sent;
    bool begins;
    bool operator<(const Away& other) const { return at > other.at; }
  };

  int64_t ns() const { return static_cast<int64_t>(now_ * 1e9); }

  void send(Host& host) {
    constexpr double kLatency_s = 0.002, kWork_s = 0.002;
    for (; host.left > 0 && host.control.in_flight() < host.control.limit(); --host.left) {
      free_at_ = std::max(free_at_, now_) + kWork_s * std::lognormal_distribution<double>(0, 0.3)(random_);
      away_.push({std::max(free_at_, now_ + kLatency_s), &host, host.control.on_sent(ns()), false});
    }
    host.most = std::max(host.most, host.control.in_flight());
  }

  std::mt19937_64 random_;
  std::vector<Host> hosts_;
  std::priority_queue<Away> away_;
  double now_ = 0, free_at_ = 0;
};

// Rows of later steps would queue before those of the next step, many times over.
TEST(ConcurrencyControl, processes_that_share_a_narrow_store_do_not_fill_its_queue) {
  for (uint64_t seed = 1; seed <= 20; ++seed) EXPECT_LE(SharedStore(4, seed).read(240), 48) << seed;
}

TEST(ConcurrencyControl, processes_of_a_job_begin_with_a_part_each) {
  ConcurrencyControl control;
  control.divide_start_among(1);
  EXPECT_EQ(control.limit(), 64);
  control.divide_start_among(2);
  EXPECT_EQ(control.limit(), 32);
  control.divide_start_among(2);
  EXPECT_EQ(control.limit(), 32) << "another loader of the same process";
  control.divide_start_among(1000);
  EXPECT_EQ(control.limit(), 16);
  ConcurrencyControl few({.start = 3});
  few.divide_start_among(8);
  EXPECT_EQ(few.limit(), 3);
  ConcurrencyControl under_way;
  under_way.on_ended(under_way.on_sent(0), 1'000'000, true);
  under_way.divide_start_among(8);
  EXPECT_EQ(under_way.limit(), 64);
}

TEST(ConcurrencyControl, one_of_several_processes_finds_what_a_store_far_away_serves) {
  ConcurrencyControl control;
  control.divide_start_among(8);
  const SimulatedServer far{.latency_s = 0.1, .per_second = 2700};
  EXPECT_GE(ConcurrencySimulation(far).run(&control, 0, 10'000).per_second, 0.98 * best_fixed(far, 10'000));
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
