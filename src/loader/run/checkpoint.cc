#include "loader/run/checkpoint.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_depth.h"

namespace forebay {

namespace {
using Json = nlohmann::ordered_json;
constexpr int kFormat = 1;
constexpr size_t kMaxBytes = size_t{1} << 30;  // enough for a replay buffer of millions of records
constexpr int64_t kMaxCount = kMaxEpoch;       // larger counts are damage, and could overflow

Result<int64_t> count(const Json& json, const char* name) {
  // get() returns numbers of 2^63 and more as negative ones, so they are refused too.
  if (!json.contains(name) || !json[name].is_number_integer() || json[name].get<int64_t>() < 0 ||
      json[name].get<int64_t>() > kMaxCount) {
    return invalid_argument(fmt::format("this state has no usable \"{}\"", name));
  }
  return json[name].get<int64_t>();
}

Result<std::string> print_of(const Json& json, const char* name) {
  const Json prints = json.value("fingerprints", Json());
  if (!prints.is_object() || !prints.contains(name) || !prints[name].is_string()) {
    return invalid_argument(fmt::format("this state has no fingerprint of the {}", name));
  }
  return prints[name].get<std::string>();
}
}  // namespace

std::string Checkpoint::to_json() const {
  Json json = {
      {"format", kFormat},           {"epoch", cursor.epoch},
      {"position", cursor.position}, {"step", cursor.step},
      {"samples", samples},          {"fingerprints", {{"dataset", dataset}, {"pipeline", pipeline}, {"seed", seed}}}};
  if (!rehearsal.empty()) json["rehearsal"] = Json::parse(rehearsal, nullptr, /*allow_exceptions=*/false);
  if (!stream.empty()) json["stream"] = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
  return json.dump();
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
  FOREBAY_ASSIGN(state.samples, count(json, "samples"));
  FOREBAY_ASSIGN(state.dataset, print_of(json, "dataset"));
  FOREBAY_ASSIGN(state.pipeline, print_of(json, "pipeline"));
  FOREBAY_ASSIGN(state.seed, print_of(json, "seed"));
  // A step has at least one sample, so this state is damaged.
  if (state.cursor.step > state.cursor.position)
    return invalid_argument("this state has more steps behind it than samples");
  if (json.contains("rehearsal")) state.rehearsal = json["rehearsal"].dump();
  if (json.contains("stream")) state.stream = json["stream"].dump();
  if (state.stream.empty() && state.cursor.position > state.samples)
    return invalid_argument("this state's position lies behind its data set's end");
  return state;
}

Status check_same(const Checkpoint& saved, const Checkpoint& running, bool endless, bool strict) {
  if (saved.stream.empty() == endless)
    return Status(Code::kStateMismatch, saved.stream.empty() ? "the state is of a data set, and this is a stream"
                                                             : "the state is of a stream, and this is a data set");
  if (saved.samples != running.samples) {
    return Status(Code::kStateMismatch, fmt::format("the state is of a data set of {} samples, this one has {}",
                                                    saved.samples, running.samples));
  }
  if (!strict) return {};
  std::string differs;
  auto compare = [&](const char* name, const std::string& a, const std::string& b) {
    if (a != b) differs += fmt::format("{}{}", differs.empty() ? "" : ", ", name);
  };
  compare("the data set", saved.dataset, running.dataset);
  compare("the pipeline", saved.pipeline, running.pipeline);
  compare("the seed", saved.seed, running.seed);
  if (differs.empty()) return {};
  return Status(Code::kStateMismatch,
                fmt::format("the state was saved with something else: {} differ(s); load it into a loader of the "
                            "same make, or take only the position with strict=False",
                            differs));
}

}  // namespace forebay
