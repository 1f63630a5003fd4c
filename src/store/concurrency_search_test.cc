// Tests how close ConcurrencyControl comes to the best fixed number, and how soon.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "store/concurrency_simulation.h"

namespace forebay {
namespace {

struct Model {
  const char* name;
  SimulatedServer server;
};

/// Counted from the first request, including growth: an epoch of a small data set.
constexpr int64_t kRequests = 20'000;

class ConcurrencySearch : public testing::TestWithParam<Model> {};

TEST_P(ConcurrencySearch, reaches_95_per_cent_of_the_best_fixed_number_within_20000_requests_and_stays_there) {
  const SimulatedServer& server = GetParam().server;
  ConcurrencySimulation simulation(server);
  ConcurrencyControl control;
  const Speed first = simulation.run(&control, 0, kRequests);
  const Speed then = simulation.run(&control, 0, 2 * kRequests);
  const double best = best_fixed(server, 2 * kRequests);
  std::printf("%-22s %.3f of the best (%.0f/s) at once, %.3f then, at %d\n", GetParam().name, first.per_second / best,
              best, then.per_second / best, then.limit);
  EXPECT_GE(first.per_second, 0.95 * best) << "the second half of them";
  EXPECT_GE(then.per_second, 0.95 * best);
}

INSTANTIATE_TEST_SUITE_P(
    Models, ConcurrencySearch,
    testing::Values(
        Model{"gateway_20ms", {.latency_s = 0.02, .per_second = 2577, .shared_s = 0.0142, .slows_above = 256}},
        Model{"gateway_100ms", {.latency_s = 0.1, .per_second = 2577, .shared_s = 0.0142, .slows_above = 512}},
        Model{"busy_gateway_20ms",
              {.latency_s = 0.02, .per_second = 2577, .shared_s = 0.0142, .slows_above = 256, .wavers = 0.1}},
        Model{"queue_20ms", {.latency_s = 0.02, .per_second = 2700}},
        Model{"queue_100ms", {.latency_s = 0.1, .per_second = 2700}},
        Model{"busy_queue_20ms", {.latency_s = 0.02, .per_second = 2700, .wavers = 0.1}},
        Model{"far", {.latency_s = 0.3, .per_second = 2700}}, Model{"near", {.latency_s = 0.0007, .per_second = 3300}},
        Model{"slow", {.latency_s = 0.02, .per_second = 300}},
        Model{"uneven_100ms", {.latency_s = 0.1, .per_second = 2700, .jitter = 1.0}},
        Model{"narrow_pipe_50ms", {.latency_s = 0.05, .per_second = 1150}},
        Model{"collapses_20ms", {.latency_s = 0.02, .per_second = 2700, .collapses_above = 128}}),
    [](const auto& model) { return std::string(model.param.name); });

}  // namespace
}  // namespace forebay
