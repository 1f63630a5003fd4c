#include "format/files/imitate_link.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "store/slow/slow_store.h"

namespace forebay {

namespace {

constexpr std::array<std::string_view, 5> kNames = {"imitate_bandwidth_bytes_per_s", "imitate_error_rate",
                                                    "imitate_jitter_ms", "imitate_latency_ms", "imitate_seed"};

constexpr double kMaxSeed = 0x1p53;  // up to here a double represents every integer

Result<double> number_option(const StorageOptions& options, const std::string& name) {
  auto found = options.find(name);
  if (found == options.end()) return 0.0;
  double value = 0;
  const std::string& text = found->second;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || !(value >= 0) || std::isinf(value)) {
    return invalid_argument(fmt::format("storage option {}={} is not a number of 0 or more", name, text));
  }
  return value;
}

}  // namespace

std::span<const std::string_view> link_option_names() { return kNames; }

bool is_link_option(std::string_view name) { return std::ranges::find(kNames, name) != kNames.end(); }

Result<std::shared_ptr<Store>> imitate_link(std::shared_ptr<Store> store, const StorageOptions& options) {
  if (options.empty()) return store;
  SlowOptions slow;
  FOREBAY_ASSIGN(slow.latency_ms, number_option(options, "imitate_latency_ms"));
  FOREBAY_ASSIGN(slow.jitter_ms, number_option(options, "imitate_jitter_ms"));
  FOREBAY_ASSIGN(slow.bandwidth_bytes_per_s, number_option(options, "imitate_bandwidth_bytes_per_s"));
  FOREBAY_ASSIGN(slow.error_rate, number_option(options, "imitate_error_rate"));
  FOREBAY_ASSIGN(const double seed, number_option(options, "imitate_seed"));
  if (seed > kMaxSeed)
    return invalid_argument(
        fmt::format("storage option imitate_seed={} is more than 2^53", options.at("imitate_seed")));
  slow.seed = static_cast<uint64_t>(seed);
  return std::shared_ptr<Store>(slow_store(std::move(store), slow));
}

}  // namespace forebay
