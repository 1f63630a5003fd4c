#include "materialize/shard_plan.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace forebay {

std::string ShardPlan::to_json() const { return nlohmann::json({{"begins", begins}}).dump(); }

Result<ShardPlan> ShardPlan::from_json(const std::string& text, int64_t rows) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  ShardPlan plan;
  try {
    plan.begins = json.at("begins").get<std::vector<int64_t>>();
  } catch (const nlohmann::json::exception&) {
    plan.begins.clear();
  }
  if (plan.begins.size() < 2 || plan.begins.front() != 0 || plan.begins.back() != rows ||
      !std::is_sorted(plan.begins.begin(), plan.begins.end()))
    return corrupt("the unfinished data is damaged; remove its folder _unfinished, and run the same command again");
  return plan;
}

ShardPlan plan_shards(int64_t rows, const std::vector<int64_t>& boundaries, double bytes_a_row,
                      std::optional<int64_t> shards, uint64_t bytes_a_shard) {
  const double wanted = shards ? std::ceil(static_cast<double>(rows) / static_cast<double>(*shards))
                               : static_cast<double>(bytes_a_shard) / std::max(bytes_a_row, 1.0);
  const auto each = static_cast<int64_t>(std::clamp(wanted, 1.0, static_cast<double>(std::max<int64_t>(rows, 1))));
  ShardPlan plan;
  if (boundaries.empty() && shards) {
    // The requested number of shards, even if it does not divide the rows.
    const int64_t count = std::min(*shards, rows);
    for (int64_t shard = 1; shard <= count; ++shard)
      plan.begins.push_back(static_cast<int64_t>(static_cast<__int128>(shard) * rows / count));
    return plan;
  }
  if (boundaries.empty()) {
    while (plan.begins.back() < rows) plan.begins.push_back(std::min(plan.begins.back() + each, rows));
    return plan;
  }
  for (size_t i = 1; i < boundaries.size(); ++i)
    if (boundaries[i] == rows || boundaries[i] - plan.begins.back() >= each)
      if (boundaries[i] > plan.begins.back()) plan.begins.push_back(boundaries[i]);
  return plan;
}

}  // namespace forebay
