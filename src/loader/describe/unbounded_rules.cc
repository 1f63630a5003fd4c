#include "loader/describe/unbounded_rules.h"

#include <optional>

#include <fmt/format.h>

#include "loader/describe/check.h"
#include "loader/describe/sources.h"
#include "loader/describe/stream_args.h"
#include "pipeline/catalog.h"

namespace forebay {

namespace {

using Advice = std::pair<std::string, std::string>;

std::optional<Advice> stream_advice(const OpSpec& step) {
  const OpDef* const def = catalog().find(step.name);
  if (def == nullptr) return std::nullopt;
  if (def->measures) return Advice("the lengths of all samples must be known", "use .batch(n)");
  switch (def->effect) {
    case OpEffect::kTaking:
      return Advice("a stream has no first samples to choose", "leave it out; epochs= and steps_per_epoch= end a run");
    case OpEffect::kKeys:
      return Advice("a stream's samples have no keys by which to split them", "split them where the stream is written");
    case OpEffect::kDrawing:
      return Advice("a stream's samples come once, in their order",
                    "leave it out; .rehearse() draws old samples again");
    case OpEffect::kRepeating:
      return Advice("a stream has no end after which to begin again",
                    "leave it out; epochs= and steps_per_epoch= end a run");
    case OpEffect::kSelection:
      return Advice(
          "which of a stream's samples it drops is not known before they come, and steps would be of other sizes",
          "drop them where the stream is written, or in on_error=\"skip\"");
    case OpEffect::kPacking:
      return Advice("the lengths of all rows must be known", "write blocks of one length to the stream");
    case OpEffect::kCaching: return Advice("a stream's samples come once", "leave it out; .rehearse() keeps old ones");
    case OpEffect::kOrder:
      if (step.args.contains("block") || step.args.contains("lanes") || step.args.contains("ramp"))
        return Advice("block=, lanes= and ramp= are for data sets", "give window=, the samples that are mixed");
      if (!step.args.contains("window"))
        return Advice("a stream has no whole to shuffle", "give window=, the samples that are mixed");
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<Advice> data_set_advice(const OpSpec& step) {
  if (catalog().has_effect(step, OpEffect::kBuffering))
    return Advice("the source is a data set, which comes no faster than it is read; .buffer() is for streams",
                  "leave it out; memory= bounds what is read ahead");
  if (catalog().has_effect(step, OpEffect::kOrder) && step.args.contains("window"))
    return Advice("window= is for streams", "leave it out: a data set is shuffled as a whole");
  return std::nullopt;
}

std::optional<Problem> underrun_problem(const std::vector<OpSpec>& steps) {
  const OpSpec* buffer = nullptr;
  bool rehearses = false;
  for (const OpSpec& step : steps) {
    if (catalog().has_effect(step, OpEffect::kBuffering)) buffer = &step;
    rehearses |= catalog().has_effect(step, OpEffect::kReplay);
  }
  const Json on_underrun = buffer != nullptr ? buffer->args.value("on_underrun", Json()) : Json();
  if (on_underrun == "rehearse" && !rehearses)
    return Problem{buffer->name, "on_underrun=\"rehearse\" needs old samples, and there is no .rehearse()",
                   "add .rehearse(n, capacity) before .batch(), or give on_underrun=\"repeat\""};
  if (on_underrun == "repeat" && rehearses)
    return Problem{buffer->name, "on_underrun=\"repeat\" and .rehearse() keep different old samples",
                   "give on_underrun=\"rehearse\", which takes those of .rehearse()"};
  return std::nullopt;
}

}  // namespace

bool is_unbounded(const OpSpec& source) {
  const SourceDef* const def = find_source(source.name);
  return def != nullptr && (def->unbounded || follows(source));
}

std::vector<Problem> unbounded_problems(const Description& description) {
  std::vector<Problem> problems;
  const std::vector<OpSpec>& steps = description.steps();
  if (steps.empty()) return problems;
  const bool unbounded = is_unbounded(steps.front());
  if (std::optional<Problem> wrong = underrun_problem(steps)) problems.push_back(std::move(*wrong));
  for (size_t i = 1; i < steps.size(); ++i) {
    const std::optional<Advice> wrong = unbounded ? stream_advice(steps[i]) : data_set_advice(steps[i]);
    if (wrong) problems.push_back({place_of(steps, i), wrong->first, wrong->second});
  }
  return problems;
}

}  // namespace forebay
