#include "store/concurrency_control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <random>

namespace forebay {
namespace {

// A store on a simulated clock: each request is away for `latency`, and waits for a server that works off so many a second.
struct Server {
  double latency_s = 0.1;
  double per_second = 2700;
  double jitter = 0.1;            // of the latency, exponential
  int collapses_above = 1 << 20;  // more in flight make the server slower, in proportion
  double throttles_above = 1e12;  // requests a second before it says 503
  double refuses = 0;             // share of requests, whatever the load
};

struct Speed {
  double per_second = 0;
  int limit = 0;
  int most_in_flight = 0;
  int64_t throttled = 0;
};

class Simulation {
 public:
  explicit Simulation(Server s) : server(s), tokens(s.throttles_above / 10) {}

  /// Keeps as many requests in flight as `control` (or `fixed`) allows until `count` came back; speed of the second half.
  Speed run(ConcurrencyControl* control, int fixed, int64_t count, double demand_per_second = 1e12) {
    Speed result;
    double half_at = 0;
    int64_t done = 0;
    while (done < count) {
      while (in_flight < (control ? control->limit() : fixed) && asked <= demand_per_second * now + 1) send(control);
      if (away.empty()) {  // the user asks for nothing now
        now += 1 / demand_per_second;
        continue;
      }
      const Away next = away.top();
      away.pop();
      now = next.back_at;
      --in_flight;
      if (next.throttled) {
        ++result.throttled;
        if (control) control->throttled();
      }
      if (control) control->ended(next.sent, ns(), !next.throttled);
      result.most_in_flight = std::max(result.most_in_flight, in_flight);
      done += next.throttled ? 0 : 1;
      if (done == count / 2 && half_at == 0) half_at = now;
    }
    result.per_second = static_cast<double>(count - count / 2) / (now - half_at);
    result.limit = control ? control->limit() : fixed;
    return result;
  }

  Server server;

 private:
  struct Away {
    double back_at;
    bool throttled;
    ConcurrencyControl::Sent sent;
    bool operator<(const Away& other) const { return back_at > other.back_at; }
  };

  int64_t ns() const { return static_cast<int64_t>(now * 1e9); }

  void send(ConcurrencyControl* control) {
    ++in_flight, ++asked;
    Away request{0, false, control ? control->sent(ns()) : ConcurrencyControl::Sent{}};
    tokens = std::min(tokens + (now - last_sent) * server.throttles_above, server.throttles_above / 10);
    last_sent = now;
    request.throttled = tokens < 1 || std::bernoulli_distribution(server.refuses)(random);
    if (!request.throttled) tokens -= 1;
    const double slow = std::max(1.0, static_cast<double>(in_flight) / server.collapses_above);
    if (!request.throttled) free_at = std::max(free_at, now) + slow / server.per_second;
    std::exponential_distribution<double> jitter(1 / (server.jitter * server.latency_s));
    request.back_at = std::max(free_at, now) + server.latency_s + jitter(random);
    away.push(request);
  }

  std::mt19937_64 random{7};
  std::priority_queue<Away> away;
  double now = 0, free_at = 0, last_sent = 0, tokens;
  int in_flight = 0;
  int64_t asked = 0;
};

double best_fixed(const Server& server, int64_t count) {
  double best = 0;
  for (int fixed = 1; fixed <= 1024; fixed *= 2)
    best = std::max(best, Simulation(server).run(nullptr, fixed, count).per_second);
  return best;
}

class ConcurrencyControlOn : public testing::TestWithParam<Server> {};

TEST_P(ConcurrencyControlOn, reaches_nine_tenths_of_the_best_fixed_number) {
  ConcurrencyControl control;
  const Speed found = Simulation(GetParam()).run(&control, 0, 40'000);
  const double best = best_fixed(GetParam(), 20'000);
  std::printf("auto %.0f/s at %d, best fixed %.0f/s\n", found.per_second, found.limit, best);
  EXPECT_GE(found.per_second, 0.9 * best);
}

INSTANTIATE_TEST_SUITE_P(Links, ConcurrencyControlOn,
                         testing::Values(Server{.latency_s = 0.1, .per_second = 2700},
                                         Server{.latency_s = 0.02, .per_second = 2700},
                                         Server{.latency_s = 0.0007, .per_second = 3300},
                                         Server{.latency_s = 0.1, .per_second = 400},
                                         Server{.latency_s = 0.3, .per_second = 2700},
                                         Server{.latency_s = 0.1, .per_second = 2700, .jitter = 1.0},
                                         Server{.latency_s = 0.02, .per_second = 2700, .collapses_above = 128},
                                         Server{.latency_s = 0.005, .per_second = 50}));

TEST(ConcurrencyControl, stays_near_the_knee_and_not_at_the_most) {
  ConcurrencyControl control;
  const Speed found = Simulation({.latency_s = 0.1, .per_second = 2700}).run(&control, 0, 200'000);
  EXPECT_GE(found.limit, 270) << "what the link holds";
  EXPECT_LE(found.limit, 700);
}

TEST(ConcurrencyControl, doubles_every_round_trip_at_first) {
  ConcurrencyControl control;
  Simulation simulation({.latency_s = 0.1, .per_second = 2700, .jitter = 0.01});
  simulation.run(&control, 0, 64 + 128 + 256);
  EXPECT_GE(control.limit(), 256);
}

TEST(ConcurrencyControl, backs_off_when_it_is_told_to_and_grows_again) {
  ConcurrencyControl control;
  Simulation simulation({.latency_s = 0.02, .per_second = 2700, .throttles_above = 500});
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
  const Speed found = Simulation({.latency_s = 0.02, .per_second = 2700, .refuses = 0.02}).run(&control, 0, 40'000);
  std::printf("2 %% refused: %.0f/s at %d\n", found.per_second, found.limit);
  EXPECT_GE(found.per_second, 0.8 * 2700);
}

TEST(ConcurrencyControl, a_user_that_asks_for_little_leaves_the_limit_alone) {
  ConcurrencyControl control;
  const Speed run =
      Simulation({.latency_s = 0.1, .per_second = 2700}).run(&control, 0, 5'000, /*demand_per_second=*/100);
  EXPECT_EQ(run.limit, 64);
  EXPECT_LE(run.most_in_flight, 20);
}

TEST(ConcurrencyControl, finds_the_knee_again_when_the_link_changes) {
  ConcurrencyControl control;
  Simulation simulation({.latency_s = 0.1, .per_second = 500});
  simulation.run(&control, 0, 20'000);
  simulation.server.per_second = 2700;
  const Speed faster = simulation.run(&control, 0, 100'000);
  EXPECT_GE(faster.per_second, 0.9 * 2700);
}

TEST(ConcurrencyControl, never_leaves_its_bounds) {
  ConcurrencyControl control({.start = 4, .least = 2, .most = 8});
  Simulation simulation({.latency_s = 0.1, .per_second = 2700, .throttles_above = 30});
  for (int i = 0; i < 200; ++i) {
    simulation.run(&control, 0, 20);
    ASSERT_GE(control.limit(), 2);
    ASSERT_LE(control.limit(), 8);
  }
}

}  // namespace
}  // namespace forebay
