#include "serve/client/absolute_paths.h"

#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "loader/describe/check.h"
#include "loader/describe/sources.h"
#include "pipeline/catalog.h"

namespace forebay {

namespace {

bool is_relative(const Json& place) {
  if (!place.is_string()) return false;
  const auto& text = place.get_ref<const std::string&>();
  return !text.empty() && text.front() != '/' && text.find("://") == std::string::npos;
}

bool has_relative(const Json& value) {
  if (!value.is_structured()) return is_relative(value);
  for (const Json& each : value) {
    if (has_relative(each)) return true;
  }
  return false;
}

void make_absolute(Json& value, const std::string& folder) {
  if (value.is_structured()) {
    for (Json& each : value) make_absolute(each, folder);
  } else if (is_relative(value)) {
    value = folder + "/" + value.get<std::string>();
  }
}

}  // namespace

namespace {

Status make_source_absolute(OpSpec& source, const std::string& folder) {
  const SourceDef* const def = find_source(source.name);
  for (const ArgDef& arg : def == nullptr ? std::span<const ArgDef>() : std::span<const ArgDef>(def->args)) {
    // An argument with a default describes how places are used and is not a place itself.
    if (arg.use == ArgUse::kPlace && arg.default_value.is_null() && source.args.contains(arg.name))
      make_absolute(source.args[arg.name], folder);
  }
  // The arrays of this source are the paths of their files.
  if (source.name == "arrays" && source.args.contains("fields")) make_absolute(source.args["fields"], folder);
  for (PipelinePart& part : source.parts) {
    Result<Description> absolute = with_absolute_paths(part.pipeline, folder);
    if (!absolute.ok()) return Status(absolute.status().code(), part.name + ": " + absolute.status().message());
    part.pipeline = std::move(*absolute);
  }
  return {};
}

}  // namespace

Result<Description> with_absolute_paths(const Description& description, const std::string& folder) {
  if (description.steps().empty()) return description;
  OpSpec source = description.steps().front();
  FOREBAY_RETURN_IF_ERROR(make_source_absolute(source, folder));
  Description result(std::move(source));
  for (size_t i = 1; i < description.steps().size(); ++i) {
    OpSpec op = description.steps()[i];
    const OpDef* const step = catalog().find(op.name);
    for (const ArgDef& arg : step == nullptr ? std::span<const ArgDef>() : std::span<const ArgDef>(step->args)) {
      if (!op.args.contains(arg.name)) continue;
      if (arg.type == ArgType::kPath && arg.use != ArgUse::kPlace) make_absolute(op.args[arg.name], folder);
      if (arg.use == ArgUse::kPlace && has_relative(op.args[arg.name]))
        return invalid_argument(
            fmt::format("{}: {}: {}={} is relative, and a shared loader is opened by a server, which "
                        "has another working folder; give the whole path",
                        i, op.name, arg.name, op.args[arg.name].dump()));
    }
    result = result.append(std::move(op));
  }
  return result;
}

}  // namespace forebay
