#include "loader/describe/stream_parts.h"

#include <algorithm>

#include "loader/describe/sources.h"
#include "loader/describe/unbounded_rules.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {

using Wrong = std::pair<std::string, std::string>;

bool has_stream(const Description& description) {
  if (description.steps().empty()) return false;
  const OpSpec& source = description.steps().front();
  return is_unbounded(source) ||
         std::ranges::any_of(source.parts, [](const PipelinePart& part) { return has_stream(part.pipeline); });
}

std::optional<Wrong> wrong_place_of_stream(const OpSpec& source) {
  const SourceDef* const def = find_source(source.name);
  if (catalog().joins_parts(source))
    return Wrong("streams as parts are not there yet in a zip", "write the stream to files, or load it by itself");
  if (def == nullptr || !def->mixes_parts)
    return Wrong(
        "a stream has no end behind which the next part, or the next epoch, could come",
        "use mix() with weights=, which say how much of each batch is the stream's; with schedule= the stream "
        "may begin behind the others: schedule=[(0, {\"old\": 1, \"live\": 0}), (n, {\"old\": 0, \"live\": 1})]");
  const auto given = [&](const char* name) { return !source.args.value(name, Json()).is_null(); };
  if (!given("weights") && !given("schedule"))
    return Wrong("a stream has no number of samples, from which its share could follow",
                 "give the mix weights=, such as weights={\"old\": 1, \"live\": 3}, or schedule=");
  if (source.args.value("end", Json()) == "all")
    return Wrong("end=\"all\" waits until each part has been passed once, and a stream never is",
                 "give samples=, or leave end= out: the epoch then ends with the first data set");
  return std::nullopt;
}

}  // namespace forebay
