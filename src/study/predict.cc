#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "forebay/profile.h"
#include "study/sample_cost.h"
#include "study/strategies.h"

namespace forebay {

namespace {

// Replaces a measured figure by a predicted one, with an interval of the same relative width.
Estimate in_place_of(const Estimate& measured, double value) {
  const auto scaled = [&](const std::optional<double>& bound) -> std::optional<double> {
    // A relative error carries over; a measured 0 has none.
    if (!bound || measured.value == 0) return std::nullopt;
    return *bound * value / measured.value;
  };
  return {value, scaled(measured.low), scaled(measured.high)};
}

std::string in_words(const Elsewhere& where) {
  std::string words;
  const auto say = [&](const std::string& part) { words += (words.empty() ? "" : ", ") + part; };
  if (where.cores) say(fmt::format("{} core{}", *where.cores, *where.cores == 1 ? "" : "s"));
  if (where.latency_seconds) say(fmt::format("a store that answers after {:g} ms", *where.latency_seconds * 1e3));
  if (where.bytes_per_second)
    say(fmt::format("a store that gives {} a second",
                    format_byte_size(static_cast<uint64_t>(*where.bytes_per_second))));
  return words;
}

Status check(const Elsewhere& where) {
  const auto unfit = [](const std::optional<double>& value) { return value && !(std::isfinite(*value) && *value > 0); };
  if (where.cores && *where.cores < 1) return invalid_argument("cores: give 1 or more");
  if (unfit(where.latency_seconds)) return invalid_argument("latency: give a time above 0");
  if (unfit(where.bytes_per_second)) return invalid_argument("bandwidth: give bytes a second above 0");
  if (where.requests < 1) return invalid_argument("requests: give 1 or more");
  return {};
}

}  // namespace

Result<Profile> predict(const Profile& profile, const Elsewhere& where) {
  FOREBAY_RETURN_IF_ERROR(check(where));
  Profile there = profile;
  there.predicted_for = in_words(where);
  // By default, as many cores as the measured run could use, which is its number of threads.
  const int cores = where.cores.value_or(profile.threads);
  const auto size = static_cast<double>(profile.size);
  const auto rate_of = [&](const SampleCost& cost) { return 1 / seconds_per_sample(cost, cores, where); };
  const Strategy& unchanged = *profile.unchanged();
  // The rate for the part that does not fit is a prediction, too.
  const Estimate without = in_place_of(unchanged.rate, rate_of(unchanged.kept));
  for (Strategy& strategy : there.strategies) {
    strategy.preparation_seconds = in_place_of(strategy.preparation_seconds, size / rate_of(strategy.preparing));
    const Estimate kept = in_place_of(strategy.rate, rate_of(strategy.kept));
    strategy.rate = strategy.fits < 1 ? mixed_rate(strategy.fits, kept, without) : kept;
  }
  // Another strategy may be best on another machine, so all are ranked anew.
  rank_strategies(there.strategies, there.weights, there.size);
  return there;
}

}  // namespace forebay
