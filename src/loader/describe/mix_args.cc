#include "loader/describe/mix_args.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/suggest.h"
#include "loader/describe/check.h"
#include "loader/describe/given_args.h"
#include "loader/describe/parted_source.h"
#include "loader/describe/source_args.h"
#include "ops/definition/args.h"

namespace forebay {

namespace {

Json given(const OpSpec& source, const char* name) { return source.args.value(name, Json()); }

std::vector<std::string> part_names(const OpSpec& source) {
  std::vector<std::string> names;
  for (const PipelinePart& part : source.parts) names.push_back(part.name);
  return names;
}

// A number as messages show it. JSON has none for NaN and infinity.
std::string shown_number(const Json& value) {
  if (!value.is_number_float()) return json_text(value);
  return fmt::format("{}", value.get<double>());
}

// Checks the weights of all parts: an argument, or a stage of a schedule.
class WeightRules {
 public:
  WeightRules(const OpSpec& source, Problems& problems) : names_(part_names(source)), problems_(problems) {}

  // `what`: "weights", or "the weights from 1000 on".
  void check(const std::string& what, const Json& weights) {
    if (!weights.is_object())
      return problems_.add(fmt::format("{} is {}", what, json_text(weights)),
                           "give a number for each part: {\"web\": 3, \"code\": 1}");
    double sum = 0;
    bool numbers = true;
    for (const auto& [name, weight] : weights.items()) {
      if (std::ranges::find(names_, name) == names_.end())
        problems_.add(
            fmt::format("{} has '{}', and there is no such part{}", what, name, suggestion_text(name, names_)),
            names_.empty() ? "give the parts" : "the parts are " + quoted_list(names_));
      const bool number = weight.is_number() && std::isfinite(weight.get<double>()) && weight.get<double>() >= 0;
      if (!number)
        problems_.add(fmt::format("{}: that of '{}' is {}", what, name, shown_number(weight)),
                      "give a number from 0 on");
      sum += number ? weight.get<double>() : 0;
      numbers = numbers && number;
    }
    for (const std::string& name : names_)
      if (!weights.contains(name))
        problems_.add(fmt::format("{}: there is none for '{}'", what, name),
                      fmt::format("give one, or leave '{}' out of the parts", name));
    if (!numbers) return;
    if (sum == 0) problems_.add(fmt::format("{}: all are 0", what), "give a part more than 0");
    if (!std::isfinite(sum)) problems_.add(fmt::format("{}: their sum is no finite number", what), "give smaller ones");
  }

 private:
  const std::vector<std::string> names_;
  Problems& problems_;
};

constexpr const char* kScheduleForm = "write [(0, {\"web\": 3, \"code\": 1}), (1_000_000, {\"web\": 1, \"code\": 1})]";

void check_schedule(const OpSpec& source, const Json& schedule, Problems& problems) {
  if (!schedule.is_array() || schedule.empty())
    return problems.add(fmt::format("schedule is {}", json_text(schedule)), kScheduleForm);
  WeightRules weights(source, problems);
  std::optional<int64_t> before;
  for (const Json& stage : schedule) {
    const bool pair = stage.is_array() && stage.size() == 2;
    if (!pair || !stage[0].is_number_integer() ||
        (stage[0].is_number_unsigned() && stage[0].get<uint64_t>() > INT64_MAX)) {
      problems.add(fmt::format("schedule: {} is no pair of a position and weights", json_text(stage)), kScheduleForm);
      continue;
    }
    const auto from = stage[0].get<int64_t>();
    if (from < 0) {
      problems.add(fmt::format("schedule: a stage begins at {}", from), "positions count from 0");
    } else if (!before && from != 0) {
      problems.add(fmt::format("schedule: the first stage begins at {}", from), "let it begin at 0");
    } else if (before && from <= *before) {
      problems.add(fmt::format("schedule: a stage that begins at {} follows one that begins at {}", from, *before),
                   "order the stages by their positions, each position once");
    }
    before = from;
    weights.check(fmt::format("schedule: the weights from {} on", from), stage[1]);
  }
}

void check_choice(const OpSpec& source, const char* name, const std::vector<std::string>& choices, Problems& problems) {
  const Json value = given(source, name);
  if (!value.is_string()) return;  // check_args() reports other types
  if (std::ranges::find(choices, value.get<std::string>()) == choices.end())
    problems.add(fmt::format("{} is {}", name, json_text(value)), "give one of " + quoted_list(choices));
}

void check_shares(const OpSpec& source, Problems& problems) {
  const Json weights = given(source, "weights"), temperature = given(source, "temperature");
  const Json schedule = given(source, "schedule");
  if (!weights.is_null()) WeightRules(source, problems).check("weights", weights);
  if (!schedule.is_null()) check_schedule(source, schedule, problems);
  if (temperature.is_number() && !(temperature.get<double>() > 0 && std::isfinite(temperature.get<double>())))
    problems.add(
        fmt::format("temperature is {}", shown_number(temperature)),
        "give a number above 0: 1 for shares like the sizes of the parts, more for shares that are more alike");
  if (!weights.is_null() + !temperature.is_null() + !schedule.is_null() > 1)
    problems.add("more than one of weights, temperature and schedule is given, and each says the shares of the parts",
                 "give one of them; the first stage of a schedule has the weights from the beginning on");
  if (given(source, "ramp") == "linear" && schedule.is_null())
    problems.add("ramp says how a schedule goes from stage to stage, and there is no schedule",
                 "give schedule=, or leave ramp out");
}

void check_length(const OpSpec& source, Problems& problems) {
  const Json samples = given(source, "samples"), end = given(source, "end");
  const bool shares = !given(source, "weights").is_null() || !given(source, "temperature").is_null() ||
                      !given(source, "schedule").is_null();
  if (samples.is_number_integer() && samples <= 0)
    problems.add(fmt::format("samples is {}", json_text(samples)), "give at least 1");
  for (const auto& [name, value] : {std::pair("samples", samples), std::pair("end", end)})
    if (!value.is_null() && !shares)
      problems.add(fmt::format("{} ends an epoch of parts that have shares, and these have none", name),
                   "give weights=; without them an epoch has each sample once. Or end it by .repeat(n)");
  if (!samples.is_null() && !end.is_null())
    problems.add("samples and end both say where an epoch ends", "leave one of them out");
}

Json weights_json(const std::vector<std::string>& names, const std::map<std::string, double>& weights) {
  Json ordered = Json::object();
  for (const std::string& name : names)
    if (const auto found = weights.find(name); found != weights.end()) ordered[name] = found->second;
  for (const auto& [name, weight] : weights) ordered[name] = weight;  // unknown ones, which check() reports
  return ordered;
}

}  // namespace

std::vector<ArgDef> mix_arg_defs() {
  return {
      {"weights", ArgType::kJson, false, nullptr,
       "the share of each part, as numbers by name; without weights= an epoch has each sample of each part once"},
      {"temperature", ArgType::kFloat, false, nullptr,
       "shares by size: proportional to size ** (1 / temperature), so that 1 gives parts their sizes and more makes "
       "them more alike"},
      {"schedule", ArgType::kJson, false, nullptr,
       "stages: pairs of the position from which weights hold, and the weights. Positions count over all epochs"},
      {"ramp", ArgType::kText, false, "step",
       "how a stage becomes the next one: \"step\", or \"linear\" from the beginning of one to that of the other"},
      {"samples", ArgType::kInt, false, nullptr,
       "samples of an epoch, for all ranks together; `end` says if not given"},
      {"end", ArgType::kText, false, "first",
       "an epoch ends before the \"first\" part would begin anew, or after \"all\" parts have been passed once"},
      {"field", ArgType::kText, false, nullptr, "name of an int64 field that has the number of a sample's part"},
      {"missing", ArgType::kText, false, "error",
       "what becomes of a field that only some parts have: \"error\", or \"mask\": the others have zeros there, empty "
       "rows and empty texts, and a bool field `<name>_valid` says whether a sample has the field"}};
}

void check_mix(const OpSpec& source, std::vector<Problem>& found) {
  Problems problems(found);
  check_shares(source, problems);
  check_length(source, problems);
  check_choice(source, "ramp", {"step", "linear"}, problems);
  check_choice(source, "end", {"first", "all"}, problems);
  check_choice(source, "missing", {"error", "mask"}, problems);
}

std::vector<Problem> weight_problems(const OpSpec& source, const Json& weights) {
  std::vector<Problem> found;
  Problems problems(found);
  WeightRules(source, problems).check("weights", weights);
  return found;
}

Json mix_args(const std::vector<std::string>& part_names, const MixSourceOptions& options) {
  Json schedule = Json::array();
  for (const MixStage& stage : options.schedule)
    schedule.push_back({stage.from, weights_json(part_names, stage.weights)});
  return given_args({{"weights", options.weights.empty() ? Json() : weights_json(part_names, options.weights)},
                     {"temperature", options.temperature ? Json(*options.temperature) : Json()},
                     {"schedule", schedule.empty() ? Json() : std::move(schedule)},
                     {"ramp", options.ramp == "step" ? Json() : Json(options.ramp)},
                     {"samples", options.samples ? Json(*options.samples) : Json()},
                     {"end", options.end == "first" ? Json() : Json(options.end)},
                     {"field", options.field.empty() ? Json() : Json(options.field)},
                     {"missing", options.missing == "error" ? Json() : Json(options.missing)}});
}

Result<std::shared_ptr<const Source>> open_parts(const OpSpec& source, const OpenSourceOptions& options) {
  std::vector<PartedSource::Part> opened;
  for (const PipelinePart& part : source.parts) {
    if (part.pipeline.steps().empty()) return problems_as_status(check(Description(source)));
    FOREBAY_ASSIGN(std::shared_ptr<const Source> one, open_source(part.pipeline.steps().front(), options));
    opened.emplace_back(part.name, std::move(one));
  }
  return std::shared_ptr<const Source>(std::make_shared<PartedSource>(std::move(opened)));
}

}  // namespace forebay
