#include "loader/samples/plan_text.h"

#include <fmt/format.h>

#include "loader/compile/bucket_step.h"
#include "loader/describe/check.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

// Names may be no UTF-8, which JSON would refuse.
std::string text_of(const OpSpec& step) {
  return step.name + step.args.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string plan_text(const Description& description) {
  const OpSpec& source = description.steps().front();
  std::string text = source.parts.empty() ? "" : text_of(source);
  for (const PipelinePart& part : source.parts) text += fmt::format("\n{}: {}", part.name, plan_text(part.pipeline));
  for (const OpSpec& step : description.steps()) {
    const bool counts = catalog().has_effect(step, OpEffect::kRepeating) ||
                        catalog().has_effect(step, OpEffect::kDrawing) || &step == measuring_step(description);
    if (counts) text += "\n" + text_of(step);
  }
  return text;
}

}  // namespace forebay
