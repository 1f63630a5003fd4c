#include "cli/checked_pipeline.h"

#include <utility>

#include "cli/failure.h"
#include "cli/files.h"

namespace forebay {

CheckedPipeline read_checked_pipeline(const std::string& path, bool json, const Console& console) {
  const Result<std::string> text = read_text(path);
  if (!text.ok()) return {.exit_code = report_failure(text.status(), json, console)};
  Result<Pipeline> pipeline = read_pipeline(path, *text);
  if (!pipeline.ok()) return {.exit_code = report_failure(pipeline.status(), json, console)};
  if (const auto problems = pipeline->check(); !problems.empty())
    return {.exit_code = report_problems(path, problems, json, console)};
  return {.pipeline = std::move(*pipeline)};
}

}  // namespace forebay
