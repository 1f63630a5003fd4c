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
// Over all branches, since each is checked by itself.
constexpr size_t kMaxBranchSteps = 100'000;
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

// Names a pipeline in errors: "the pipeline", "the part 'web/en'".
std::string called(const std::string& path) { return path.empty() ? "the pipeline" : "the part '" + path + "'"; }

Result<std::vector<OpSpec>> parse_steps(const Json& json, const std::string& path, size_t depth);

Result<std::vector<PipelinePart>> parse_parts(const Json& json, size_t index, const std::string& path, size_t depth) {
  std::vector<PipelinePart> parts;
  if (depth >= kDeepestParts) return invalid_argument(fmt::format("parts nest deeper than {} levels", kDeepestParts));
  if (!json.is_array())
    return invalid_argument(fmt::format("the parts of step {} of {} are no list", index, called(path)));
  for (const Json& part : json) {
    if (!part.is_object() || part.size() != 2 || !part.contains("name") || !part["name"].is_string() ||
        !part.contains("steps") || !part["steps"].is_array()) {
      return invalid_argument(fmt::format("part {} of step {} of {} is not of the form {{\"name\": …, \"steps\": […]}}",
                                          parts.size(), index, called(path)));
    }
    const auto name = part["name"].get<std::string>();
    FOREBAY_ASSIGN(std::vector<OpSpec> steps,
                   parse_steps(part["steps"], path.empty() ? name : path + "/" + name, depth + 1));
    parts.push_back({name, Description::of(std::move(steps))});
  }
  return parts;
}

Result<OpSpec> parse_step(const Json& json, size_t index, const std::string& path, size_t depth) {
  if (!json.is_object() || !json.contains("op") || !json["op"].is_string()) {
    return invalid_argument(fmt::format("step {} of {} is not of the form {{\"op\": name, …}}", index, called(path)));
  }
  OpSpec op;
  op.name = json["op"].get<std::string>();
  if (json.contains("parts")) {
    FOREBAY_ASSIGN(op.parts, parse_parts(json["parts"], index, path, depth));
  }
  for (const auto& [name, value] : json.items()) {
    if (name != "op" && name != "parts") op.args[name] = value;
  }
  return op;
}

Result<std::vector<OpSpec>> parse_steps(const Json& json, const std::string& path, size_t depth) {
  if (json.empty() || json.size() > kMaxSteps) {
    return invalid_argument(fmt::format("{} has 1 to {} steps, this one {}", path.empty() ? "a pipeline" : "a part",
                                        kMaxSteps, json.size()));
  }
  std::vector<OpSpec> steps;
  for (const Json& step : json) {
    FOREBAY_ASSIGN(OpSpec op, parse_step(step, steps.size(), path, depth));
    steps.push_back(std::move(op));
  }
  return steps;
}

struct BranchCount {
  size_t branches = 0;
  size_t steps = 0;  // of all branches together
};

BranchCount count_branches(const Description& description) {
  BranchCount count;
  for (const OpSpec& op : description.steps()) {
    if (op.parts.empty()) count.branches = std::max<size_t>(count.branches, 1);
    for (const PipelinePart& part : op.parts) {
      const BranchCount inner = count_branches(part.pipeline);
      count.branches += inner.branches;
      count.steps += inner.steps;
    }
    count.steps += count.branches;
  }
  return count;
}

// Steps as JSON. `path` is that of the part that they belong to.
Result<Json> steps_json(const std::vector<OpSpec>& steps, const std::string& path) {
  Json list = Json::array();
  for (const OpSpec& op : steps) {
    if (!op.attachment_name.empty() || op.attachment) {
      return invalid_argument(fmt::format(
          "step {}{}: {}({}) holds something that JSON cannot: {}. A saved pipeline consists of "
          "sources and operators that are named; keep this step in your program",
          list.size(), path.empty() ? "" : " of " + called(path), op.name, print_args(op), op.attachment_name));
    }
    Json step = {{"op", op.name}};
    for (const PipelinePart& part : op.parts) {
      FOREBAY_ASSIGN(Json inner, steps_json(part.pipeline.steps(), path.empty() ? part.name : path + "/" + part.name));
      step["parts"].push_back({{"name", part.name}, {"steps", std::move(inner)}});
    }
    for (const auto& [name, value] : op.args.items()) step[name] = value;
    list.push_back(std::move(step));
  }
  return list;
}

void print_steps(const std::vector<OpSpec>& steps, const std::string& indent, std::string& text) {
  for (const OpSpec& op : steps) {
    const bool first = &op == &steps.front();
    text += fmt::format("{}{}{}{}({})", text.empty() ? "" : "\n", indent, first ? "" : "  .", op.name, print_args(op));
    for (const PipelinePart& part : op.parts) {
      text += fmt::format("\n{}  {}:", indent, part.name);
      print_steps(part.pipeline.steps(), indent + "    ", text);
    }
  }
}

}  // namespace

std::string place_of(const std::vector<OpSpec>& steps, size_t step) {
  return steps[step].place.empty() ? fmt::format("{}: {}", step, steps[step].name) : steps[step].place;
}

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

Description Description::of(std::vector<OpSpec> steps) {
  Description result;
  result.steps_ = std::make_shared<const std::vector<OpSpec>>(std::move(steps));
  return result;
}

Description Description::append(OpSpec op) const {
  std::vector<OpSpec> steps = *steps_;
  steps.push_back(std::move(op));
  return of(std::move(steps));
}

size_t Description::step_count() const {
  size_t count = steps_->size();
  for (const OpSpec& op : *steps_)
    for (const PipelinePart& part : op.parts) count += part.pipeline.step_count();
  return count;
}

size_t Description::depth() const {
  size_t deepest = 0;
  for (const OpSpec& op : *steps_)
    for (const PipelinePart& part : op.parts) deepest = std::max(deepest, 1 + part.pipeline.depth());
  return deepest;
}

std::string Description::to_string() const {
  std::string text;
  print_steps(*steps_, "", text);
  return text;
}

Result<std::string> Description::to_json() const {
  FOREBAY_ASSIGN(Json steps, steps_json(*steps_, ""));
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
  FOREBAY_ASSIGN(std::vector<OpSpec> steps, parse_steps(json["steps"], "", 0));
  Description result = of(std::move(steps));
  if (const size_t count = count_branches(result).steps; count > kMaxBranchSteps) {
    return invalid_argument(
        fmt::format("the ways from the sources of this pipeline to its batches have {} steps "
                    "together; {} are the most",
                    count, kMaxBranchSteps));
  }
  return result;
}

Hash128 Description::fingerprint(const Catalog& catalog) const {
  Hasher hasher;
  for (const OpSpec& op : *steps_) {
    // These steps change neither samples nor order: a run may continue with other batches, caches
    // and buffers.
    if (const OpDef* const def = catalog.find(op.name); def != nullptr && !def->changes_samples()) continue;
    Json args = op.args;
    // The location of the data does not identify it; the version of the data set does. How parts
    // are mixed decides the order.
    if (&op == &steps_->front() && op.parts.empty()) args = Json::object();
    // Like the batch size, these may change: a run may continue with another number of ranks.
    if (catalog.has_effect(op, OpEffect::kReplay)) {
      args.erase("n");
      args.erase("ram");
    }
    const std::string text = fmt::format("{}({}){}\n", op.name,
                                         args.dump(-1, ' ', false, Json::error_handler_t::replace), op.attachment_name);
    hasher.update(text);
    for (const PipelinePart& part : op.parts) {
      // The length keeps the name apart from what follows it.
      hasher.update(
          fmt::format("{} {} {}\n", part.name.size(), part.name, part.pipeline.fingerprint(catalog).to_string()));
    }
  }
  return hasher.digest();
}

}  // namespace forebay
