#include "serve/server/shared_prefix.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "loader/describe/check.h"
#include "pipeline/cache_rules.h"
#include "pipeline/catalog.h"

namespace forebay {

namespace {

bool is_order(const OpSpec& op) { return catalog().has_effect(op, OpEffect::kOrder); }

bool ends_prefix(const OpSpec& op) {
  const OpDef* const def = catalog().find(op.name);
  const bool ends = def != nullptr && (def->freezes || def->effect == OpEffect::kBatching);
  return ends || op.attachment || !op.attachment_name.empty() || is_random_step(op, catalog());
}

bool makes_values(const OpSpec& op) { return catalog().has_role(op, OpRole::kValues); }

std::string step_key(const OpSpec& op) {
  std::string key = fmt::format("{}({})", op.name, op.args.dump(-1, ' ', false, Json::error_handler_t::replace));
  for (const PipelinePart& part : op.parts) key += fmt::format("\n{}: {}", part.name, part.pipeline.to_string());
  return key;
}

bool same_step(const OpSpec& a, const OpSpec& b) {
  if (a.name != b.name || a.args != b.args) return false;
  return (a.parts.empty() && b.parts.empty()) || step_key(a) == step_key(b);
}

// Whether a cache may stand behind the source: no step of its parts ends the prefix.
bool begins_prefix(const OpSpec& source) {
  return std::ranges::all_of(source.parts, [](const PipelinePart& part) {
    return begins_prefix(part.pipeline.steps().front()) && std::ranges::none_of(part.pipeline.steps(), ends_prefix);
  });
}

// Returns a text that identifies the first `steps` steps.
std::string prefix_key(const Description& description, size_t steps) {
  std::string key;
  for (size_t i = 0; i < steps && i < description.steps().size(); ++i) {
    const OpSpec& op = description.steps()[i];
    if (!is_order(op)) key += step_key(op);
  }
  return key;
}

bool has_prefix(const Description& description, const std::string& key) {
  for (size_t steps = 1; steps <= description.steps().size(); ++steps)
    if (prefix_key(description, steps) == key) return true;
  return false;
}

size_t past_orders(const Description& description, size_t step) {
  while (step < description.steps().size() && is_order(description.steps()[step])) ++step;
  return step;
}

}  // namespace

size_t shared_steps(const Description& a, const Description& b) {
  if (!same_step(a.steps().front(), b.steps().front()) || !begins_prefix(a.steps().front())) return 0;
  size_t common = 0;
  for (size_t i = 1, j = 1;; ++i, ++j) {
    i = past_orders(a, i);
    j = past_orders(b, j);
    if (i >= a.steps().size() || j >= b.steps().size()) return common;
    const OpSpec& op = a.steps()[i];
    if (ends_prefix(op) || !same_step(op, b.steps()[j])) return common;
    if (makes_values(op)) common = i + 1;
  }
}

Description with_cache_after(const Description& description, size_t steps, uint64_t ram_bytes) {
  const std::vector<OpSpec>& all = description.steps();
  if (steps == 0 || steps >= all.size() || ram_bytes == 0) return description;
  if (std::ranges::any_of(all, [](const OpSpec& op) { return catalog().has_effect(op, OpEffect::kCaching); }))
    return description;
  Description result(all.front());
  for (size_t i = 1; i < all.size(); ++i) {
    if (i == steps) result = result.append({"cache", Json{{"ram", ram_bytes}, {"disk", 0}}, nullptr, ""});
    result = result.append(all[i]);
  }
  return result;
}

uint64_t SharedPrefixes::add(const Description& description, const std::string& job) {
  const Lock lock(mutex_);
  clients_.emplace(++version_, Client{description, job});
  return version_;
}

void SharedPrefixes::remove(uint64_t client) {
  const Lock lock(mutex_);
  clients_.erase(client);
  // A budget is released with the last client that could use it.
  std::erase_if(budgets_, [&](const auto& budget) FOREBAY_REQUIRES(mutex_) {
    return std::ranges::none_of(clients_,
                                [&](const auto& one) { return has_prefix(one.second.description, budget.first); });
  });
}

void SharedPrefixes::set_bytes(uint64_t bytes) {
  const Lock lock(mutex_);
  bytes_ = bytes;
}

uint64_t SharedPrefixes::reserve_bytes(const Description& description, size_t steps) {
  constexpr uint64_t kFewest = 16 * kMiB;
  const std::string key = prefix_key(description, steps);
  const Lock lock(mutex_);
  // Each budget is half of the rest, so the rest stays above 0.
  uint64_t left = bytes_;
  for (const auto& [other, bytes] : budgets_) left -= bytes;
  if (left / 2 < kFewest && !budgets_.contains(key)) return 0;
  return budgets_.emplace(key, left / 2).first->second;
}

uint64_t SharedPrefixes::version() const {
  const Lock lock(mutex_);
  return version_;
}

size_t SharedPrefixes::steps_of(uint64_t client) const {
  const Lock lock(mutex_);
  const auto own = clients_.find(client);
  if (own == clients_.end()) return 0;
  size_t most = 0;
  for (const auto& [other, each] : clients_) {
    if (other != client && each.job != own->second.job)
      most = std::max(most, shared_steps(own->second.description, each.description));
  }
  return most;
}

}  // namespace forebay
