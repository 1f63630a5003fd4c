#include "loader/describe/materialized_steps.h"

#include <utility>
#include <vector>

#include "loader/describe/check.h"
#include "pipeline/catalog.h"
#include "store/http/http_url.h"

namespace forebay {

namespace {

// Such steps change neither samples nor their order, so states carry over.
bool in_fingerprint(const OpSpec& step) {
  const OpDef* const def = catalog().find(step.name);
  return def == nullptr || def->changes_samples();
}

// Passwords and signatures must not be written with the data.
Json without_secrets(const Json& value) {
  if (value.is_string()) return url_for_messages(value.get<std::string>());
  if (!value.is_array()) return value;
  Json list = Json::array();
  for (const Json& one : value) list.push_back(without_secrets(one));
  return list;
}

Json json_of(const OpSpec& step, bool source) {
  Json args = step.args;
  bool hidden = false;
  for (auto& [name, value] : args.items()) {
    if (!source) break;
    Json shown = without_secrets(value);
    hidden = hidden || shown != value;
    value = std::move(shown);
  }
  Json json = {{"op", step.name}, {"args", std::move(args)}};
  for (const PipelinePart& part : step.parts) {
    Json steps = Json::array();
    for (const OpSpec& inner : part.pipeline.steps()) {
      steps.push_back(json_of(inner, steps.empty()));
      hidden = hidden || steps.back().contains("hidden");
    }
    json["parts"].push_back({{"name", part.name}, {"steps", std::move(steps)}});
  }
  if (hidden) json["hidden"] = true;
  if (!step.attachment_name.empty()) json["attachment"] = step.attachment_name;
  return json;
}

std::string text_in(const Json& json, const char* name) {
  const Json value = json.is_object() ? json.value(name, Json()) : Json();
  return value.is_string() ? value.get<std::string>() : std::string();
}

OpSpec step_from(const Json& json);

// Parts of a zip, whose steps have no parts.
std::vector<PipelinePart> parts_from(const Json& json) {
  std::vector<PipelinePart> parts;
  for (const Json& part : json.is_array() ? json : Json::array()) {
    const Json listed = part.is_object() ? part.value("steps", Json()) : Json();
    std::vector<OpSpec> steps;
    for (const Json& step : listed.is_array() ? listed : Json::array())
      if (step.is_object() && !step.contains("parts")) steps.push_back(step_from(step));
    parts.push_back({text_in(part, "name"), Description::of(std::move(steps))});
  }
  return parts;
}

OpSpec step_from(const Json& json) {
  const auto text = [&](const char* name) { return text_in(json, name); };
  OpSpec step;
  step.name = text("op");
  step.args = json.value("args", Json());
  if (!step.args.is_object()) step.args = Json::object();
  step.attachment_name = text("attachment");
  step.parts = parts_from(json.value("parts", Json()));
  return step;
}

// Removes the arguments of a data set, or of those side by side, which say where they are.
void forget_place(Json& source) {
  source.erase("hidden");
  if (!source.contains("parts") || !source["parts"].is_array()) {
    source.erase("args");
    return;
  }
  for (Json& part : source["parts"])
    if (part.is_object() && part.contains("steps") && !part["steps"].empty() && part["steps"][0].is_object())
      forget_place(part["steps"][0]);
}

}  // namespace

StepsBefore steps_before(const Description& description, size_t last) {
  StepsBefore before;
  Json steps = Json::array();
  for (size_t i = 0; i <= last && i < description.steps().size(); ++i) {
    const OpSpec& step = description.steps()[i];
    if (catalog().has_effect(step, OpEffect::kOrder)) {
      before.order_at = steps.size();
    } else if (in_fingerprint(step)) {
      steps.push_back(json_of(step, i == 0));
    }
  }
  before.steps = steps.dump(-1, ' ', false, Json::error_handler_t::replace);
  return before;
}

Hash128 fingerprint_of(const Description& description, const Source& source) {
  if (source.steps_before().empty()) return description.fingerprint(catalog());
  // Forebay wrote this text and the manifest's reader checked it. A missing part changes the
  // fingerprint.
  const Json before = Json::parse(source.steps_before(), nullptr, /*allow_exceptions=*/false);
  std::vector<OpSpec> steps;
  if (before.is_object() && before.contains("steps") && before["steps"].is_array())
    for (const Json& step : before["steps"])
      if (step.is_object()) steps.push_back(step_from(step));
  const size_t order_at = before.is_object() ? before.value("order_at", SIZE_MAX) : SIZE_MAX;
  for (size_t i = 1; i < description.steps().size(); ++i) {
    const OpSpec& step = description.steps()[i];
    const bool order = catalog().has_effect(step, OpEffect::kOrder) && order_at <= steps.size();
    steps.insert(order ? steps.begin() + static_cast<std::ptrdiff_t>(order_at) : steps.end(), step);
  }
  if (steps.empty()) return description.fingerprint(catalog());
  Description original(std::move(steps.front()));
  for (size_t i = 1; i < steps.size(); ++i) original = original.append(std::move(steps[i]));
  return original.fingerprint(catalog());
}

bool same_but_source(const std::string& steps, const std::string& others) {
  Json a = Json::parse(steps, nullptr, /*allow_exceptions=*/false);
  Json b = Json::parse(others, nullptr, /*allow_exceptions=*/false);
  if (!a.is_array() || !b.is_array() || a.empty() || b.empty() || !a[0].is_object() || !b[0].is_object()) return false;
  for (Json* const json : {&a, &b}) forget_place((*json)[0]);
  return a == b;
}

std::optional<OpSpec> original_source(const std::string& steps) {
  const Json json = Json::parse(steps, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array() || json.empty() || !json[0].is_object()) return std::nullopt;
  if (json[0].contains("attachment") || json[0].contains("hidden")) return std::nullopt;
  return step_from(json[0]);
}

}  // namespace forebay
