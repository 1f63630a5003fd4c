#include "loader/run/saved_changes.h"

#include <algorithm>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace forebay {

namespace {

Status unusable(const char* name) { return invalid_argument(std::string("this state has no usable \"") + name + "\""); }

// A count that no sum with another overflows. A number of 2^63 and more reads as a negative one.
bool is_count(const Json& value) {
  return value.is_number_integer() && value.get<int64_t>() >= 0 && value.get<int64_t>() <= kMaxEpoch;
}

bool are_counts(const Json& list) { return list.is_array() && std::ranges::all_of(list, is_count); }

bool is_list(const Json& json, size_t size) { return json.is_array() && json.size() == size; }

// [text, count, count]
bool is_named_pair(const Json& items) {
  return is_list(items, 3) && items[0].is_string() && is_count(items[1]) && is_count(items[2]);
}

// [path, from, [drawn, …], [weight, …]]
bool is_mix(const Json& items) {
  return is_list(items, 4) && items[0].is_string() && is_count(items[1]) && are_counts(items[2]) &&
         are_counts(items[3]);
}

// [path, from, version, hash]
bool is_redrawing(const Json& items) {
  return is_list(items, 4) && items[0].is_string() && is_count(items[1]) && items[2].is_string() &&
         items[3].is_string();
}

bool is_list_of(const Json& json, bool (*is_item)(const Json&)) {
  return json.is_array() && std::ranges::all_of(json, is_item);
}

bool are_changes(const Json& json) {
  return (is_list(json, 3) || (is_list(json, 4) && is_list_of(json[3], is_redrawing))) && is_list(json[0], 3) &&
         are_counts(json[0]) && is_list_of(json[1], is_mix) && is_list_of(json[2], is_named_pair);
}

}  // namespace

Json json_of(const std::vector<SavedPart>& parts) {
  Json json = Json::array();
  for (const SavedPart& part : parts) json.push_back({part.path, part.samples, part.drawn});
  return json;
}

Json json_of(const PlanChanges& changes) {
  if (changes.empty()) return Json::array();
  Json mixes = Json::array(), grown = Json::array();
  for (const auto& [path, mix] : changes.mixes) mixes.push_back({path, mix.from, mix.drawn, mix.weights});
  for (const auto& [path, growth] : changes.grown) grown.push_back({path, growth.pass, growth.samples});
  const Json since = {changes.since.epoch, changes.since.position, changes.since.step};
  Json all = Json::array({since, std::move(mixes), std::move(grown)});
  if (changes.redrawn.empty()) return all;
  Json& redrawn = all.emplace_back(Json::array());
  for (const auto& [path, one] : changes.redrawn) redrawn.push_back({path, one.from, one.version, one.hash});
  return all;
}

Result<std::vector<SavedPart>> parts_of(const Json& json) {
  if (!json.is_array() || !std::ranges::all_of(json, is_named_pair)) return unusable("parts");
  std::vector<SavedPart> parts;
  for (const Json& items : json)
    parts.push_back({items[0].get<std::string>(), items[1].get<int64_t>(), items[2].get<int64_t>()});
  return parts;
}

Result<PlanChanges> changes_of(const Json& json) {
  PlanChanges changes;
  if (is_list(json, 0)) return changes;
  if (!are_changes(json)) return unusable("changes");
  const Json& since = json[0];
  changes.since = {since[0].get<int64_t>(), since[1].get<int64_t>(), since[2].get<int64_t>()};
  for (const Json& items : json[1])
    changes.mixes[items[0].get<std::string>()] = {items[1].get<int64_t>(), items[2].get<std::vector<int64_t>>(),
                                                  items[3].get<std::vector<int64_t>>()};
  for (const Json& items : json[2])
    changes.grown[items[0].get<std::string>()] = {items[1].get<int64_t>(), items[2].get<int64_t>()};
  if (json.size() < 4) return changes;
  for (const Json& items : json[3])
    changes.redrawn[items[0].get<std::string>()] = {items[1].get<int64_t>(), items[2].get<std::string>(),
                                                    items[3].get<std::string>()};
  return changes;
}

}  // namespace forebay
