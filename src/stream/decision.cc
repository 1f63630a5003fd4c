#include "stream/decision.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_depth.h"

namespace forebay {

namespace {

using Json = nlohmann::ordered_json;
// Other languages represent integers of JSON exactly up to here, and sums are far from overflow.
constexpr int64_t kMaxRecords = int64_t{1} << 53;
constexpr int64_t kMaxMissing = int64_t{1} << 24;  // bounds memory: a short text can name many
constexpr size_t kLongestOffset = 1024;

Status no_decision() {
  return invalid_argument("this is no decision of a stream: {\"first\": …, \"parts\": […]} is wanted");
}

Status no_beginning() {
  return invalid_argument("a decision of a stream begins behind what is no list of its partitions' offsets");
}

bool is_count(const Json& value) {
  return value.is_number_integer() && value.get<int64_t>() >= 0 && value.get<int64_t>() < kMaxRecords;
}

bool is_offset(const Json& value) {
  return value.is_string() && value.get_ref<const std::string&>().size() <= kLongestOffset;
}

bool is_part(const Json& part) {
  if (!part.is_array() || part.size() < 3 || part.size() > 4) return false;
  return is_count(part[0]) && is_offset(part[1]) && is_count(part[2]) && (part.size() < 4 || is_count(part[3]));
}

Json json_of(const Decision& decision) {
  if (decision.missing > 0) return {{"first", decision.first}, {"missing", decision.missing}};
  Json parts = Json::array();
  for (const DecisionPart& part : decision.parts) {
    Json one = {part.partition, part.last, part.taken};
    if (part.dropped > 0) one.push_back(part.dropped);
    parts.push_back(std::move(one));
  }
  Json json = {{"first", decision.first}, {"parts", std::move(parts)}};
  if (!decision.after.empty()) json["after"] = decision.after;
  return json;
}

bool are_offsets(const Json& json, size_t partitions) {
  return json.is_array() && json.size() == partitions && std::ranges::all_of(json, is_offset);
}

Result<Decision> decision_of(const Json& json, size_t partitions) {
  const bool numbered = json.is_object() && json.contains("first") && is_count(json["first"]);
  const bool is_missing = numbered && json.contains("missing") && is_count(json["missing"]) && json["missing"] != 0;
  if (is_missing && json["missing"].get<int64_t>() <= kMaxMissing)
    return Decision{json["first"].get<int64_t>(), {}, json["missing"].get<int64_t>()};
  const bool whole =
      numbered && json.contains("parts") && json["parts"].is_array() && json["parts"].size() <= partitions;
  if (!whole) return no_decision();
  Decision decision;
  decision.first = json["first"].get<int64_t>();
  int64_t records = 0;
  for (const Json& part : json["parts"]) {
    if (!is_part(part)) return invalid_argument(fmt::format("{} is no part of a decision", part.dump().substr(0, 80)));
    DecisionPart one;
    one.partition = static_cast<size_t>(part[0].get<int64_t>());
    one.last = part[1].get<std::string>();
    one.taken = part[2].get<int64_t>();
    if (part.size() > 3) one.dropped = part[3].get<int64_t>();
    if (one.partition >= partitions || (!decision.parts.empty() && decision.parts.back().partition >= one.partition))
      return invalid_argument(fmt::format("a decision names partition {} of {}", one.partition, partitions));
    // Each part is below kMaxRecords, so the sum is checked before it can overflow.
    if ((records += one.taken) >= kMaxRecords) return invalid_argument("a decision has more records than there can be");
    decision.parts.push_back(std::move(one));
  }
  // After a decision without records, the same decision would be due again, forever.
  if (records == 0) return invalid_argument("a decision of a stream has no records");
  if (json.contains("after")) {
    if (!are_offsets(json["after"], partitions)) return no_beginning();
    decision.after = json["after"].get<std::vector<std::string>>();
  }
  return decision;
}

}  // namespace

int64_t Decision::size() const {
  int64_t size = missing;
  for (const DecisionPart& part : parts) size += part.taken;
  return size;
}

const DecisionPart* Decision::part(size_t partition) const {
  const auto found = std::ranges::find(parts, partition, &DecisionPart::partition);
  return found == parts.end() ? nullptr : &*found;
}

std::string Decision::to_json() const { return json_of(*this).dump(); }

Result<Decision> Decision::from_json(std::string_view text, size_t partitions) {
  if (nests_too_deep(text)) return decision_of({}, partitions);
  return decision_of(Json::parse(text, nullptr, /*allow_exceptions=*/false), partitions);
}

Result<StreamPlace> StreamState::place_in(const std::vector<std::string>& others) const {
  if (partitions.size() != others.size())
    return Status(Code::kStateMismatch, fmt::format("the state is of a stream of {} partitions, this one has {}",
                                                    partitions.size(), others.size()));
  const auto [mine, other] = std::ranges::mismatch(partitions, others);
  if (mine == partitions.end()) return place;
  return Status(Code::kStateMismatch,
                fmt::format("the state is of the partition '{}' where this stream has '{}'", *mine, *other));
}

Json StreamState::to_json() const {
  Json json = {{"number", place.number}, {"partitions", Json::array()}};
  for (size_t p = 0; p < partitions.size(); ++p) {
    Json one = {partitions[p], place.after[p]};
    if (place.dropped[p] > 0) one.push_back(place.dropped[p]);
    json["partitions"].push_back(std::move(one));
  }
  if (place.decision) json["decision"] = json_of(*place.decision);
  if (place.sampled) json["sampled"] = true;
  if (place.began_at_log_end) json["begun"] = true;
  return json;
}

Result<StreamState> StreamState::from_json(const Json& json) {
  const bool whole = json.is_object() && json.contains("number") && is_count(json["number"]) &&
                     json.contains("partitions") && json["partitions"].is_array();
  if (!whole) return invalid_argument("this is no place in a stream");
  StreamState state;
  StreamPlace& place = state.place;
  place.number = json["number"].get<int64_t>();
  place.sampled = json.value("sampled", Json(false)) == Json(true);
  place.began_at_log_end = place.number == 0 && json.value("begun", Json(false)) == Json(true);
  for (const Json& one : json["partitions"]) {
    const bool good = one.is_array() && one.size() >= 2 && one.size() <= 3 && one[0].is_string() && is_offset(one[1]) &&
                      (one.size() < 3 || is_count(one[2]));
    if (!good) return invalid_argument(fmt::format("{} is no partition's place", one.dump().substr(0, 80)));
    state.partitions.push_back(one[0].get<std::string>());
    place.after.push_back(one[1].get<std::string>());
    place.dropped.push_back(one.size() > 2 ? one[2].get<int64_t>() : 0);
  }
  if (json.contains("decision")) {
    FOREBAY_ASSIGN(place.decision, decision_of(json["decision"], state.partitions.size()));
    if (place.number < place.decision->first || place.number >= place.decision->end())
      return invalid_argument("a place in a stream lies outside the decision that it names");
  }
  return state;
}

}  // namespace forebay
