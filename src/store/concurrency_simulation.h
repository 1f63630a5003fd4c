#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <queue>
#include <random>

#include "store/concurrency_control.h"

// A server and its users on a simulated clock, for tests of ConcurrencyControl.

namespace forebay {

/// A store on a simulated clock. Each request takes `latency`, and waits for a server that
/// completes so many a second.
struct SimulatedServer {
  double latency_s = 0.1;
  double per_second = 2700;
  double jitter = 0.1;            // of the latency, exponential
  int collapses_above = 1 << 20;  // above this number in flight the server slows down in proportion
  double throttles_above = 1e12;  // requests a second above which it answers 503
  double refuses = 0;             // share of requests that it refuses, whatever the load
  // Work that requests in flight share: the more there are, the cheaper is each.
  double shared_s = 0;
  // Above this number in flight each request costs more: a fifth for twice as many.
  double slows_above = 1e9;
  // Other users of the server make its work take about this share more or less, for tenths of a
  // second at a time. Reported speeds are corrected for it.
  double wavers = 0;
};

struct Speed {
  double per_second = 0;
  int limit = 0;
  int max_in_flight = 0;
  int64_t throttled = 0;
};

/// Runs requests against a SimulatedServer. Used by one thread.
class ConcurrencySimulation {
 public:
  explicit ConcurrencySimulation(SimulatedServer s) : server(s), tokens(s.throttles_above / 10) {}

  /// Keeps as many requests in flight as `control` (or `fixed`) allows until `count` have
  /// completed. Returns the speed of the second half.
  Speed run(ConcurrencyControl* control, int fixed, int64_t count, double demand_per_second = 1e12) {
    Speed result;
    double half_time = 0, speeds = 0;
    int64_t done = 0;
    while (done < count) {
      while (in_flight < (control ? control->limit() : fixed) && requests_sent <= demand_per_second * now + 1)
        send(control);
      if (in_flight_requests.empty()) {  // the user requests nothing now
        now += 1 / demand_per_second;
        continue;
      }
      const InFlight next = in_flight_requests.top();
      in_flight_requests.pop();
      now = next.back_at;
      --in_flight;
      if (next.throttled) {
        ++result.throttled;
        if (control) control->on_throttled();
      }
      if (control) control->on_ended(next.sent, ns(), !next.throttled);
      result.max_in_flight = std::max(result.max_in_flight, in_flight);
      done += next.throttled ? 0 : 1;
      if (done > count / 2) speeds += next.throttled ? 0 : speed;
      if (done == count / 2 && half_time == 0) half_time = now;
    }
    result.per_second = static_cast<double>(count - count / 2) / (now - half_time);
    if (server.wavers > 0) result.per_second *= speeds / static_cast<double>(count - count / 2);
    result.limit = control ? control->limit() : fixed;
    return result;
  }

  SimulatedServer server;

 private:
  struct InFlight {
    double back_at;
    bool throttled;
    ConcurrencyControl::Sent sent;
    bool operator<(const InFlight& other) const { return back_at > other.back_at; }
  };

  // Work of one request, given the number in flight now.
  double work_s() {
    constexpr double kWaversFor = 0.2, kMoreForAsManyAgain = 0.2;
    if (now >= wavers_until) {
      wavers_until = now + std::exponential_distribution<double>(1 / kWaversFor)(random);
      speed = std::exp(std::normal_distribution<double>(0, server.wavers)(random));
    }
    const double beyond = std::max(0.0, in_flight / server.slows_above - 1);
    return (1 / server.per_second + server.shared_s / in_flight) * (1 + kMoreForAsManyAgain * beyond) * speed;
  }

  int64_t ns() const { return static_cast<int64_t>(now * 1e9); }

  void send(ConcurrencyControl* control) {
    ++in_flight, ++requests_sent;
    InFlight request{0, false, control ? control->on_sent(ns()) : ConcurrencyControl::Sent{}};
    tokens = std::min(tokens + (now - last_sent) * server.throttles_above, server.throttles_above / 10);
    last_sent = now;
    request.throttled = tokens < 1 || std::bernoulli_distribution(server.refuses)(random);
    if (!request.throttled) tokens -= 1;
    const double slow = std::max(1.0, static_cast<double>(in_flight) / server.collapses_above);
    if (!request.throttled) free_at = std::max(free_at, now) + work_s() * slow;
    std::exponential_distribution<double> jitter(1 / (server.jitter * server.latency_s));
    request.back_at = std::max(free_at, now) + server.latency_s + jitter(random);
    in_flight_requests.push(request);
  }

  std::mt19937_64 random{7};
  std::priority_queue<InFlight> in_flight_requests;
  double now = 0, free_at = 0, last_sent = 0, tokens, wavers_until = 0, speed = 1;
  int in_flight = 0;
  int64_t requests_sent = 0;
};

inline double best_fixed(const SimulatedServer& server, int64_t count) {
  double best = 0;
  for (int fixed = 1; fixed <= 1024; fixed *= 2)
    best = std::max(best, ConcurrencySimulation(server).run(nullptr, fixed, count).per_second);
  return best;
}

}  // namespace forebay
