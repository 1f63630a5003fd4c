#include "loader/describe/source_args.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/suggest.h"
#include "loader/describe/sources.h"
#include "ops/definition/args.h"

namespace forebay {

std::vector<Problem> check_source(const OpSpec& source) {
  const SourceDef* const def = find_source(source.name);
  const std::string place = "0: " + source.name;
  if (def == nullptr) {
    std::vector<std::string> names;
    for (const SourceDef& known : sources()) names.push_back(known.name);
    return {{place, fmt::format("there is no source '{}'{}", source.name, suggestion_text(source.name, names)),
             fmt::format("a pipeline begins with one of {}", fmt::join(names, ", "))}};
  }
  std::vector<Problem> found;
  Problems problems(found);
  check_args(source.args, def->args, problems);
  if (!source.parts.empty() && def->kind != SourceKind::kParts)
    problems.add("it has parts, and only mix, concat and zip are made of parts", "leave the parts out");
  if (def->check) def->check(source, found);
  for (Problem& problem : found) problem.op = place;
  return found;
}

std::string text_arg(const OpSpec& source, const char* name, const std::string& otherwise) {
  const Json value = source.args.value(name, Json());
  return value.is_string() ? value.get<std::string>() : otherwise;
}

std::vector<NamedArray> named_arrays(const OpSpec& source) {
  const Json given = source.args.value("fields", Json());
  std::vector<NamedArray> arrays;
  if (!given.is_object()) {
    for (std::string& name : field_list(given)) arrays.push_back({std::move(name), ""});
    return arrays;
  }
  for (const auto& [name, path] : given.items())
    arrays.push_back({name, path.is_string() ? path.get<std::string>() : ""});
  return arrays;
}

OpSpec npy_arrays_step(const std::vector<NamedArray>& arrays) {
  Json fields = Json::object();
  for (const NamedArray& array : arrays) fields[array.name] = array.path;
  return {"arrays", {{"fields", std::move(fields)}}, nullptr, ""};
}

}  // namespace forebay
