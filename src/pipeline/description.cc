#include "pipeline/description.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json_depth.h"
#include "pipeline/catalog.h"

namespace forebay {

namespace {

constexpr int kFormat = 1;
// Some rules compare each step with all steps before it, so an untrusted file must not have too
// many.
constexpr size_t kMaxSteps = 1000;
constexpr size_t kMaxJsonBytes = size_t{64} << 20;

// Formats arguments as a person would type them: "224, scale=[0.08, 1.0]".
std::string print_args(const OpSpec& op) {
  std::string text;
  for (const auto& [name, value] : op.args.items()) {
    if (value.is_null()) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name,
                        value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  if (!op.attachment_name.empty()) text = op.attachment_name + (text.empty() ? "" : ", ") + text;
  return text;
}

Result<Json> parse_json(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    // The library counts from 1, and is one past the end if the text is incomplete.
    const size_t at = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    return invalid_argument(at == text.size() ? fmt::format("this is not JSON: it breaks off in line {}", line)
                                              : fmt::format("this is not JSON: something is wrong in line {}", line));
  } catch (const Json::exception&) {  // a number that does not fit a double
    return invalid_argument("this is not JSON: a number in it is out of range");
  }
}

Result<OpSpec> parse_step(const Json& json, size_t index) {
  if (!json.is_object() || !json.contains("op") || !json["op"].is_string()) {
    return invalid_argument(fmt::format("step {} of the pipeline is not of the form {{\"op\": name, …}}", index));
  }
  OpSpec op;
  op.name = json["op"].get<std::string>();
  op.args = json;
  op.args.erase("op");
  return op;
}

}  // namespace

std::vector<std::string> field_list(const Json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  std::vector<std::string> names;
  if (value.is_array()) {
    for (const Json& name : value) {
      if (name.is_string()) names.push_back(name.get<std::string>());
    }
  }
  return names;
}

Description::Description() : steps_(std::make_shared<std::vector<OpSpec>>()) {}

Description::Description(OpSpec source) : steps_(std::make_shared<std::vector<OpSpec>>(1, std::move(source))) {}

Description Description::append(OpSpec op) const {
  auto steps = std::make_shared<std::vector<OpSpec>>(*steps_);
  steps->push_back(std::move(op));
  Description result;
  result.steps_ = std::move(steps);
  return result;
}

std::string Description::to_string() const {
  std::string text;
  for (const OpSpec& op : *steps_) {
    text += fmt::format("{}{}{}({})", text.empty() ? "" : "\n", text.empty() ? "" : "  .", op.name, print_args(op));
  }
  return text;
}

Result<std::string> Description::to_json() const {
  Json steps = Json::array();
  for (size_t i = 0; i < steps_->size(); ++i) {
    const OpSpec& op = (*steps_)[i];
    if (!op.attachment_name.empty() || op.attachment) {
      return invalid_argument(
          fmt::format("step {}: {}({}) holds something that JSON cannot: {}. A saved pipeline consists of "
                      "sources and operators that are named; keep this step in your program",
                      i, op.name, print_args(op), op.attachment_name));
    }
    Json step = {{"op", op.name}};
    for (const auto& [name, value] : op.args.items()) step[name] = value;
    steps.push_back(std::move(step));
  }
  const Json all = {{"forebay_pipeline", kFormat}, {"steps", std::move(steps)}};
  // JSON cannot hold names that are not UTF-8 without losing bytes.
  try {
    return all.dump(2);
  } catch (const Json::exception&) {
    return invalid_argument("a name in this pipeline is not UTF-8, which JSON cannot hold");
  }
}

Result<Description> Description::from_json(std::string_view text) {
  if (text.size() > kMaxJsonBytes) return invalid_argument("this pipeline is larger than 64 MiB of JSON");
  if (nests_too_deep(text)) return invalid_argument("this JSON is not a pipeline: its lists and objects nest too deep");
  FOREBAY_ASSIGN(const Json json, parse_json(text));
  if (!json.is_object() || !json.contains("forebay_pipeline") || !json.contains("steps") || !json["steps"].is_array()) {
    return invalid_argument("this JSON is not a pipeline: it has no \"forebay_pipeline\" and \"steps\"");
  }
  if (json["forebay_pipeline"] != kFormat) {
    return Status(Code::kUnsupported, fmt::format("this pipeline has format {}; this Forebay reads format {}",
                                                  json["forebay_pipeline"].dump(), kFormat));
  }
  if (json["steps"].empty() || json["steps"].size() > kMaxSteps) {
    return invalid_argument(fmt::format("a pipeline has 1 to {} steps, this one {}", kMaxSteps, json["steps"].size()));
  }
  auto steps = std::make_shared<std::vector<OpSpec>>();
  for (const Json& step : json["steps"]) {
    FOREBAY_ASSIGN(OpSpec op, parse_step(step, steps->size()));
    steps->push_back(std::move(op));
  }
  Description result;
  result.steps_ = std::move(steps);
  return result;
}

Hash128 Description::fingerprint(const Catalog& catalog) const {
  Hasher hasher;
  for (const OpSpec& op : *steps_) {
    // These steps change neither samples nor order: a run may continue with other batches, caches
    // and buffers.
    if (const OpDef* const def = catalog.find(op.name); def != nullptr && !changes_samples(def->effect)) continue;
    Json args = op.args;
    // The location of the data does not identify it; the version of the data set does.
    if (&op == &steps_->front()) args = Json::object();
    // Like the batch size, these may change: a run may continue with another number of ranks.
    if (catalog.has_effect(op, OpEffect::kReplay)) {
      args.erase("n");
      args.erase("ram");
    }
    const std::string text = fmt::format("{}({}){}\n", op.name,
                                         args.dump(-1, ' ', false, Json::error_handler_t::replace), op.attachment_name);
    hasher.update(text);
  }
  return hasher.digest();
}

}  // namespace forebay
