#include "study/part_costs.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace forebay {

namespace {

constexpr int64_t kRowsLookedAt = 65'536;  // rows
constexpr size_t kMostLines = 10;

double seconds_of(const PartCost& part) { return part.rate ? part.sample_share / *part.rate : 0; }

}  // namespace

Result<std::vector<double>> shares_of_parts(const Loader& loader, size_t parts) {
  std::vector<double> shares(parts);
  double rows = 0;
  for (int64_t steps = 1; rows < kRowsLookedAt; steps *= 16) {
    FOREBAY_ASSIGN(const EpochPlan plan, loader.plan(0, 0, 1, steps));
    std::ranges::fill(shares, 0);
    rows = 0;
    for (const PlannedStep& step : plan.first) {
      if (rows >= kRowsLookedAt) break;
      for (const int32_t part : step.parts) shares[static_cast<size_t>(part)] += 1;
      rows += static_cast<double>(step.parts.size());
    }
    if (static_cast<int64_t>(plan.first.size()) < steps) break;
  }
  for (double& share : shares) share /= std::max(rows, 1.0);
  return shares;
}

void rank_parts(std::vector<PartCost>& parts) {
  double all = 0;
  for (const PartCost& part : parts) all += seconds_of(part);
  for (PartCost& part : parts) part.time_share = all > 0 ? seconds_of(part) / all : 0;
  std::ranges::stable_sort(parts, std::greater(), &PartCost::time_share);
}

double mixed_rate_of(const std::vector<PartCost>& parts) {
  double samples = 0, seconds = 0;
  for (const PartCost& part : parts) {
    if (!part.rate) continue;
    samples += part.sample_share;
    seconds += seconds_of(part);
  }
  return seconds > 0 ? samples / seconds : 0;
}

Json to_json(const PartCost& part) {
  return {{"name", part.name},
          {"sample_share", part.sample_share},
          {"samples_per_second", part.rate ? Json(*part.rate) : Json()},
          {"time_share", part.time_share}};
}

std::string parts_text(const std::vector<PartCost>& parts) {
  if (parts.empty() || !parts.front().rate) return "";
  const PartCost& first = parts.front();
  std::string text = fmt::format(
      "The part '{}' costs the most: {:.0f} % of the time, for {:.0f} % of the samples. Each part by itself:\n",
      first.name, 100 * first.time_share, 100 * first.sample_share);
  size_t lines = 0;
  for (const PartCost& part : parts) {
    if (!part.rate) continue;
    if (++lines > kMostLines) break;
    text += fmt::format("  {}: {:.0f} samples a second; {:.1f} % of the samples, {:.1f} % of the time\n", part.name,
                        *part.rate, 100 * part.sample_share, 100 * part.time_share);
  }
  return text;
}

}  // namespace forebay
