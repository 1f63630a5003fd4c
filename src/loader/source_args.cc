#include "loader/source_args.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/definition/args.h"
#include "pipeline/catalog.h"

namespace forebay {

namespace {

std::vector<ArgDef> args_of(const std::string& source) {
  if (source == "images") {
    return {{"root", ArgType::kText, true, nullptr, "the folder that holds the class folders"},
            {"split_by", ArgType::kText, false, "folder", "what makes classes"}};
  }
  if (source == "files") return {{"pattern_or_list", ArgType::kJson, true, nullptr, "a pattern, or a list of files"}};
  if (source == "manifest") {
    return {{"url", ArgType::kText, true, nullptr, "a CSV, JSONL or Parquet file"},
            {"root", ArgType::kText, false, nullptr, "what the paths are relative to"},
            {"path", ArgType::kText, false, "path", "the column that holds the paths"}};
  }
  if (source == "arrays") return {{"fields", ArgType::kJson, true, nullptr, "the arrays by name"}};
  return {{"size", ArgType::kInt, true, nullptr, "how many samples there are"},
          {"version", ArgType::kText, false, nullptr, "changed with what the data set gives"}};
}

bool is_text(const Json& value) { return value.is_string(); }

void check_files(const OpSpec& source, Problems& problems) {
  const Json given = source.args.value("pattern_or_list", Json());
  if (given.is_null() || given.is_string()) return;
  if (!given.is_array() || !std::all_of(given.begin(), given.end(), is_text))
    problems.add("pattern_or_list is neither a text nor a list of texts",
                 "give a pattern such as 'photos/**/*.jpg', or a list of files");
}

void check_arrays(const OpSpec& source, Problems& problems) {
  const Json given = source.args.value("fields", Json());
  if (given.is_null() || source.attachment) return;
  if (given.is_array() && !given.empty()) {
    problems.add("the arrays themselves are missing; a pipeline read from JSON has none",
                 "write them to .npy files and give their paths, or begin with fb.arrays(...) in your program");
  } else if (!given.is_object() || given.empty() || !std::all_of(given.begin(), given.end(), is_text)) {
    problems.add("fields does not give a .npy file for each name", "write {\"name\": \"path.npy\", …}");
  }
}

void check_dataset(const OpSpec& source, Problems& problems) {
  if (source.args.value("version", Json()) == Json(""))
    problems.add("its version is empty",
                 "give version=\"1\", and another one when the data set changes, or leave it out");
  // Whoever has an object says its type, also where another language holds it.
  if (source.attachment_name.empty()) {
    problems.add(
        "the data set itself is missing; a pipeline read from JSON has none",
        "begin with fb.Dataset(...) in your program, or with a source that has a name, such as files or parquet");
  }
}

}  // namespace

std::vector<Problem> check_source_args(const OpSpec& source) {
  std::vector<Problem> found;
  Problems problems(found);
  check_args(source.args, args_of(source.name), problems);
  if (source.name == "files") check_files(source, problems);
  if (source.name == "arrays") check_arrays(source, problems);
  if (source.name == "dataset") check_dataset(source, problems);
  for (Problem& problem : found) problem.op = "0: " + source.name;
  return found;
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
