#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/byte_size.h"
#include "forebay/profile.h"
#include "pipeline/op_spec.h"
#include "study/part_costs.h"
#include "study/part_pipelines.h"
#include "study/pipeline_json.h"
#include "study/profile_words.h"

namespace forebay {

namespace {

Json to_json(const Estimate& estimate) {
  return {{"value", estimate.value},
          {"low", estimate.low ? Json(*estimate.low) : Json()},
          {"high", estimate.high ? Json(*estimate.high) : Json()}};
}

std::string_view name_of(StrategyTier tier) {
  switch (tier) {
    case StrategyTier::kMemory: return "memory";
    case StrategyTier::kDisk: return "disk";
    case StrategyTier::kFiles: return "files";
    case StrategyTier::kNothing: break;
  }
  return "nothing";
}

Json to_json(const Strategy& strategy) {
  return {{"name", strategy.name},
          {"behind", strategy.behind ? Json(*strategy.behind) : Json()},
          {"tier", name_of(strategy.tier)},
          {"compression", strategy.compression.empty() ? Json() : Json(strategy.compression)},
          {"bytes", to_json(strategy.bytes)},
          {"preparation_seconds", to_json(strategy.preparation_seconds)},
          {"samples_per_second", to_json(strategy.rate)},
          {"fits", strategy.fits},
          {"pays_after_epochs", strategy.pays_after ? Json(*strategy.pays_after) : Json()},
          {"score", strategy.score},
          {"pareto", strategy.best_of_its_kind},
          {"command", strategy.command.empty() ? Json() : Json(strategy.command)},
          {"pipeline", description_json(strategy.pipeline)}};
}

Json to_json(const PartProfile& part) {
  Json json = to_json(part.cost);
  json["strategies"] = Json::array();
  for (const Strategy& strategy : part.strategies) json["strategies"].push_back(to_json(strategy));
  return json;
}

// Names the command that makes the files of the best strategy, or mentions files as an alternative.
std::string files_sentence(const Profile& profile) {
  const Strategy& best = profile.strategies.front();
  if (best.tier == StrategyTier::kFiles) return fmt::format("Its files are made by: {}\n", best.command);
  if (best.tier != StrategyTier::kDisk || !best.behind || !profile.parts.empty()) return {};
  return fmt::format("As files that others read, too: forebay materialize PIPELINE.json FOLDER --cut {}\n",
                     numbered_steps(best.pipeline.description())[*best.behind].step->name);
}

std::string row_of(const Strategy& strategy) {
  return fmt::format("{:>27}  {:>9}  {:>10}  {:>8}  {} {}\n", rate_text(strategy),
                     duration_text(strategy.preparation_seconds.value), bytes_text(strategy), pays_text(strategy),
                     strategy.best_of_its_kind ? "*" : " ", name_text(strategy));
}

}  // namespace

std::vector<PartCost> costs_of(const Profile& profile) {
  std::vector<PartCost> costs;
  for (const PartProfile& part : profile.parts) costs.push_back(part.cost);
  return costs;
}

std::string duration_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 1 : 0);
  return seconds < 6000 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

std::string rate_text(const Strategy& strategy) {
  const Estimate& rate = strategy.rate;
  if (!rate.low || !rate.high) return fmt::format("{:.0f}", rate.value);
  return fmt::format("{:.0f} ({:.0f} to {:.0f})", rate.value, *rate.low, *rate.high);
}

std::string bytes_text(const Strategy& strategy) {
  return strategy.tier == StrategyTier::kNothing ? "-" : format_byte_size(static_cast<uint64_t>(strategy.bytes.value));
}

std::string pays_text(const Strategy& strategy) {
  if (strategy.tier == StrategyTier::kNothing) return "-";
  return strategy.pays_after ? fmt::format("{:.0f}", *strategy.pays_after) : "never";
}

std::string name_text(const Strategy& strategy) {
  return strategy.fits < 1 ? fmt::format("{} (room for {:.0f} %)", strategy.name, 100 * strategy.fits) : strategy.name;
}

std::string gain_sentence(const Profile& profile) {
  const Strategy& best = profile.strategies.front();
  const Strategy* const unchanged = profile.unchanged();
  const bool files = best.tier == StrategyTier::kFiles;
  if (best.tier == StrategyTier::kNothing)
    return "Keep nothing: nothing that was tried here is better by these weights.";
  return fmt::format("Best: {}, {:.2f} times as fast as with nothing kept, from the {} epoch on; {} {}.", best.name,
                     best.rate.value / unchanged->rate.value, files ? "first" : "second",
                     files ? "they take" : "it takes", bytes_text(best));
}

std::string tried_sentence(const Profile& profile) {
  if (!profile.predicted_for.empty())
    return fmt::format("Predicted for {}, from what {} of {} samples cost here", profile.predicted_for, profile.samples,
                       profile.size);
  return fmt::format(
      "Tried on {} of {} samples in {:.0f} s; bytes and times are of all of them, carried over from these",
      profile.samples, profile.size, profile.seconds);
}

std::string to_text(const Profile& profile) {
  std::string text = gain_sentence(profile) + "\n";
  text += fmt::format("{:>27}  {:>9}  {:>10}  {:>8}    each epoch the steps behind it\n", "samples/s (95 %)",
                      "preparing", "takes", "pays off");
  for (const Strategy& strategy : profile.strategies) text += row_of(strategy);
  text += fmt::format(
      "{}. Weights: preparing {:g}, room {:g}, speed {:g}; * no other is better in one and as good in the "
      "others; pays off: after so many epochs.\n",
      tried_sentence(profile), profile.weights.preparation, profile.weights.storage, profile.weights.throughput);
  text += files_sentence(profile);
  text += parts_text(costs_of(profile));
  for (const PartProfile& part : profile.parts) {
    if (part.strategies.empty()) continue;
    const Strategy& best = part.strategies.front();
    text += fmt::format("  {}, by itself: best {}, {} samples/s\n", part.cost.name, name_text(best), rate_text(best));
  }
  if (!profile.others.empty()) text += "Beside that:\n";
  for (const std::string& other : profile.others) text += fmt::format("  - {}\n", other);
  return text;
}

std::string to_json(const Profile& profile) {
  Json json = {{"forebay_profile", 1},
               {"predicted_for", profile.predicted_for.empty() ? Json() : Json(profile.predicted_for)},
               {"samples", profile.samples},
               {"size", profile.size},
               {"weights",
                {{"preparation", profile.weights.preparation},
                 {"storage", profile.weights.storage},
                 {"throughput", profile.weights.throughput}}},
               {"strategies", Json::array()},
               {"parts", Json::array()},
               {"others", profile.others},
               {"seconds", profile.seconds}};
  for (const Strategy& strategy : profile.strategies) json["strategies"].push_back(to_json(strategy));
  for (const PartProfile& part : profile.parts) json["parts"].push_back(to_json(part));
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace forebay
