#include "loader/run/checkpoint.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/json_depth.h"
#include "loader/run/saved_changes.h"

namespace forebay {

namespace {
using Json = nlohmann::ordered_json;
constexpr int kFormat = 1;
constexpr size_t kMaxBytes = size_t{1} << 30;  // enough for a replay buffer of millions of records
constexpr int64_t kMaxCount = kMaxEpoch;       // larger counts are damage, and could overflow
// A mix of streams has more samples than each of them.
constexpr int64_t kMaxSamples = int64_t{1} << 62;

Result<int64_t> count(const Json& json, const char* name, int64_t most = kMaxCount) {
  // get() returns numbers of 2^63 and more as negative ones, so they are refused too.
  if (!json.contains(name) || !json[name].is_number_integer() || json[name].get<int64_t>() < 0 ||
      json[name].get<int64_t>() > most) {
    return invalid_argument(fmt::format("this state has no usable \"{}\"", name));
  }
  return json[name].get<int64_t>();
}

Result<std::string> fingerprint_in(const Json& json, const char* name) {
  const Json prints = json.value("fingerprints", Json());
  if (!prints.is_object() || !prints.contains(name) || !prints[name].is_string()) {
    return invalid_argument(fmt::format("this state has no fingerprint of the {}", name));
  }
  return prints[name].get<std::string>();
}

// A class is [label, seen, was_largest, next, ids], and then epochs if the state has them.
enum ClassItem : size_t { kLabel, kSeen, kWasLargest, kNext, kIds, kEpochs };
constexpr size_t kItemsWithEpochs = kEpochs + 1;

// A record is [number, partition, offset, before]: see PlacedRecord.
enum RecordItem : size_t { kNumber, kPartition, kOffset, kBefore };
constexpr size_t kRecordItems = kBefore + 1;

Json json_of(const ReplayState& replay) {
  Json json = {{"source", replay.source_version}, {"classes", Json::array()}};
  for (const auto& [label, one] : replay.classes) {
    std::vector<int64_t> ids, epochs;
    for (const ReplaySample& sample : one.samples) {
      ids.push_back(sample.id);
      epochs.push_back(sample.epoch);
    }
    json["classes"].push_back({label, one.seen, one.was_largest, one.next, std::move(ids)});
    if (replay.has_epochs) json["classes"].back().push_back(std::move(epochs));
  }
  if (!replay.records) return json;
  Json& records = json["places"] = Json::array();
  for (const auto& [number, place] : *replay.records)
    records.push_back({number, place.partition, place.offset, place.before});
  return json;
}

bool is_index(const Json& value) { return value.is_number_integer() && value.get<int64_t>() >= 0; }

bool are_indices(const Json& list) { return list.is_array() && std::ranges::all_of(list, is_index); }

bool has_epochs(const Json& items) { return items.size() == kItemsWithEpochs; }

bool is_class(const Json& items) {
  if (!items.is_array() || (items.size() != kEpochs && !has_epochs(items))) return false;
  if (has_epochs(items) && (!are_indices(items[kEpochs]) || items[kEpochs].size() != items[kIds].size())) return false;
  return items[kLabel].is_number_integer() && items[kSeen].is_number_integer() && items[kWasLargest].is_boolean() &&
         is_index(items[kNext]) && are_indices(items[kIds]);
}

// Returns nothing if the class is malformed.
std::optional<Rehearsal::Class> class_of(const Json& items) {
  if (!is_class(items)) return std::nullopt;
  const Json& ids = items[kIds];
  Rehearsal::Class one{items[kSeen].get<int64_t>(), items[kWasLargest].get<bool>(), {}, items[kNext].get<int64_t>()};
  const auto size = static_cast<int64_t>(ids.size());
  if (one.seen < size || one.next > std::max<int64_t>(size - 1, 0)) return std::nullopt;
  for (size_t i = 0; i < ids.size(); ++i)
    one.samples.push_back({ids[i].get<int64_t>(), has_epochs(items) ? items[kEpochs][i].get<int64_t>() : 0});
  return one;
}

bool is_record(const Json& items) {
  return items.is_array() && items.size() == kRecordItems && is_index(items[kNumber]) &&
         items[kPartition].is_number_unsigned() && items[kOffset].is_string() && items[kBefore].is_string();
}

Result<std::vector<PlacedRecord>> records_of(const Json& list) {
  if (!list.is_array() || !std::ranges::all_of(list, is_record))
    return invalid_argument("this state does not say where its kept records lie");
  std::vector<PlacedRecord> records;
  for (const Json& items : list)
    records.push_back(
        {items[kNumber].get<int64_t>(),
         {items[kPartition].get<size_t>(), items[kOffset].get<std::string>(), items[kBefore].get<std::string>()}});
  return records;
}

Result<ReplayState> replay_of(const Json& json) {
  const auto unusable = [] { return invalid_argument("this state has no usable \"rehearsal\""); };
  if (!json.is_object() || !json.contains("classes") || !json["classes"].is_array()) return unusable();
  ReplayState replay;
  // Any other value than a text is no version of a source, either.
  const Json source = json.value("source", Json());
  if (source.is_string()) replay.source_version = source.get<std::string>();
  for (const Json& items : json["classes"]) {
    std::optional<Rehearsal::Class> one = class_of(items);
    if (!one) return unusable();
    replay.has_epochs |= has_epochs(items);
    replay.classes.emplace(items[kLabel].get<int64_t>(), *std::move(one));
  }
  if (json.contains("places")) {
    FOREBAY_ASSIGN(replay.records, records_of(json["places"]));
  }
  return replay;
}

void add_streams(const std::map<std::string, StreamState>& streams, Json& json) {
  for (const auto& [path, stream] : streams) json["streams"][path] = stream.to_json();
}

Result<std::map<std::string, StreamState>> streams_of(const Json& json) {
  std::map<std::string, StreamState> streams;
  const Json all = json.value("streams", Json::object());
  if (!all.is_object()) return invalid_argument("this state has no usable \"streams\"");
  for (const auto& [path, stream] : all.items()) {
    FOREBAY_ASSIGN(streams[path], StreamState::from_json(stream));
  }
  return streams;
}
}  // namespace

std::string Checkpoint::to_json() const {
  Json json = {
      {"format", kFormat},           {"epoch", cursor.epoch},
      {"position", cursor.position}, {"step", cursor.step},
      {"samples", samples},          {"fingerprints", {{"dataset", dataset}, {"pipeline", pipeline}, {"seed", seed}}}};
  if (!parts.empty()) json["parts"] = json_of(parts);
  if (changes) json["changes"] = json_of(*changes);
  if (replay) json["rehearsal"] = json_of(*replay);
  add_streams(streams, json);
  return json.dump();
}

Result<StreamState> Checkpoint::stream_at(const std::string& path) const {
  const auto found = streams.find(path);
  if (found != streams.end()) return found->second;
  const std::string name = path.empty() ? "" : fmt::format(" '{}'", path);
  return Status(Code::kStateMismatch, fmt::format("the state does not say where the stream{} is", name));
}

Result<Checkpoint> Checkpoint::from_json(std::string_view text) {
  if (text.size() > kMaxBytes) return invalid_argument("this is not a state: it is longer than any state");
  if (nests_too_deep(text)) return invalid_argument("this is not a state: its lists and objects nest too deep");
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object() || !json.contains("format")) {
    return invalid_argument("this is not a state that state_dict() made");
  }
  // Checked before any other field: a later format may use the same names for something else.
  if (json["format"] != kFormat) {
    return Status(Code::kUnsupported, fmt::format("this state has format {}; this Forebay reads format {}",
                                                  json["format"].dump(), kFormat));
  }
  Checkpoint state;
  FOREBAY_ASSIGN(state.cursor.epoch, count(json, "epoch"));
  FOREBAY_ASSIGN(state.cursor.position, count(json, "position"));
  FOREBAY_ASSIGN(state.cursor.step, count(json, "step"));
  FOREBAY_ASSIGN(state.samples, count(json, "samples", kMaxSamples));
  FOREBAY_ASSIGN(state.dataset, fingerprint_in(json, "dataset"));
  FOREBAY_ASSIGN(state.pipeline, fingerprint_in(json, "pipeline"));
  FOREBAY_ASSIGN(state.seed, fingerprint_in(json, "seed"));
  // A step has at least one sample, so this state is damaged.
  if (state.cursor.step > state.cursor.position)
    return invalid_argument("this state has more steps behind it than samples");
  if (json.contains("parts")) {
    FOREBAY_ASSIGN(state.parts, parts_of(json["parts"]));
  }
  if (json.contains("changes")) {
    FOREBAY_ASSIGN(state.changes, changes_of(json["changes"]));
  }
  if (state.changes && is_before(state.cursor, state.changes->since))
    return invalid_argument("this state's position lies before the last change of its parts");
  if (json.contains("rehearsal")) {
    FOREBAY_ASSIGN(state.replay, replay_of(json["rehearsal"]));
  }
  FOREBAY_ASSIGN(state.streams, streams_of(json));
  return state;
}

namespace {

Status check_size(const Checkpoint& saved, const Checkpoint& running) {
  if (saved.samples == running.samples) return {};
  return Status(Code::kStateMismatch, fmt::format("the state is of a data set of {} samples, this one has {}",
                                                  saved.samples, running.samples));
}

// Names what differs between the parts of two runs.
std::vector<std::string> differences(const std::vector<SavedPart>& saved, const std::vector<SavedPart>& running) {
  std::vector<std::string> found;
  std::map<std::string, int64_t> before;
  for (const SavedPart& part : saved) before[part.path] = part.samples;
  for (const SavedPart& part : running) {
    const auto known = before.find(part.path);
    if (known == before.end()) {
      found.push_back(fmt::format("'{}' is new", part.path));
    } else {
      if (known->second != part.samples)
        found.push_back(fmt::format("'{}' had {} samples and has {}", part.path, known->second, part.samples));
      before.erase(known);
    }
  }
  for (const auto& [path, samples] : before) found.push_back(fmt::format("'{}' is gone", path));
  return found;
}

Status other_parts(const Checkpoint& saved, const Checkpoint& running, const std::string& differs) {
  constexpr size_t kMostNamed = 5;
  std::vector<std::string> parts = differences(saved.parts, running.parts);
  if (parts.empty() && saved.pipeline != running.pipeline) parts.emplace_back("the weights of parts, or steps");
  if (parts.size() > kMostNamed) {
    parts.resize(kMostNamed);
    parts.emplace_back("others");
  }
  return Status(
      Code::kStateMismatch,
      fmt::format("the state was saved with something else: {} differ(s){}{}; parts=\"changed\" goes on with other "
                  "parts and weights where the state's parts were",
                  differs, parts.empty() ? "" : ": ", fmt::join(parts, ", ")));
}

}  // namespace

Status check_same(const Checkpoint& saved, const Checkpoint& running, bool endless, bool strict) {
  const bool have_parts = !saved.parts.empty() && !running.parts.empty();
  // Where other parts are the reason, these are named below.
  const bool other_parts_named = strict && have_parts && saved.pipeline != running.pipeline;
  if (saved.streams.empty() == endless && !other_parts_named)
    return Status(Code::kStateMismatch, endless ? "the state is of a data set, and this is a stream"
                                                : "the state is of a stream, and this is a data set");
  // Other parts or weights change the number of samples, so they are named before it.
  if (!strict || !have_parts) FOREBAY_RETURN_IF_ERROR(check_size(saved, running));
  if (!strict) return {};
  std::string differs;
  auto compare = [&](const char* name, const std::string& a, const std::string& b) {
    if (a != b) differs += fmt::format("{}{}", differs.empty() ? "" : ", ", name);
  };
  compare("the data set", saved.dataset, running.dataset);
  compare("the pipeline", saved.pipeline, running.pipeline);
  compare("the seed", saved.seed, running.seed);
  if (differs.empty()) return check_size(saved, running);
  if (have_parts && saved.seed == running.seed) return other_parts(saved, running, differs);
  return Status(Code::kStateMismatch,
                fmt::format("the state was saved with something else: {} differ(s); load it into a loader of the "
                            "same make, or take only the position with strict=False",
                            differs));
}

}  // namespace forebay
