#include "loader/check.h"

#include <set>

#include <fmt/format.h>

#include "loader/source_args.h"
#include "loader/table_args.h"
#include "loader/user_code.h"
#include "ops/definition/registry.h"

namespace forebay {

namespace {

Field any_field(std::string name) {
  Field field;
  field.name = std::move(name);
  field.kind = FieldKind::kAny;
  return field;
}

Field fetched_bytes(std::string name) {
  Field field;
  field.name = std::move(name);
  field.kind = FieldKind::kBytes;
  field.fetched = true;
  return field;
}

Field text_field(std::string name) {
  Field field;
  field.name = std::move(name);
  field.kind = FieldKind::kText;
  return field;
}

std::vector<Problem> check_source(const OpSpec& source) {
  static const std::set<std::string> kSources = {"images",  "files",   "manifest", "arrays",
                                                 "dataset", "parquet", "arrow"};
  if (kSources.contains(source.name)) return is_table(source) ? check_table(source) : check_source_args(source);
  return {{fmt::format("0: {}", source.name), fmt::format("there is no source '{}'", source.name),
           "a pipeline begins with images, files, manifest, arrays, parquet, arrow or a Dataset"}};
}

}  // namespace

const Catalog& catalog() {
  static const Catalog instance = [] {
    std::vector<OpDef> ops = all_ops();
    ops.push_back(map_op());
    ops.push_back(filter_op());
    return Catalog(std::move(ops));
  }();
  return instance;
}

Schema announced_schema(const OpSpec& source) {
  Schema schema;
  if (source.name == "images") {
    Field image = fetched_bytes("image");
    image.image = true;
    schema.push_back(std::move(image));
    if (source.args.value("split_by", Json("folder")) == Json("folder")) {
      Field label;
      label.name = "label";
      label.dtype = DType::kInt64;
      schema.push_back(std::move(label));
    }
    schema.push_back(text_field("key"));
  } else if (source.name == "files" || source.name == "manifest") {
    schema.push_back(fetched_bytes("bytes"));
    schema.push_back(text_field("key"));
    schema.open_ended = source.name == "manifest";
  } else if (source.name == "arrays") {
    for (NamedArray& array : named_arrays(source)) schema.push_back(any_field(std::move(array.name)));
  } else {
    schema.open_ended = true;
  }
  return schema;
}

std::vector<Problem> check(const Description& description, const Schema& source) {
  std::vector<Problem> problems = description.steps().empty()
                                      ? std::vector<Problem>{{"", "the pipeline is empty", "begin with a source"}}
                                      : check_source(description.steps().front());
  if (!problems.empty()) return problems;
  return infer(description, source, catalog()).problems;
}

std::vector<Problem> check(const Description& description) {
  return check(description, description.steps().empty() ? Schema() : announced_schema(description.steps().front()));
}

Status problems_as_status(const std::vector<Problem>& problems) {
  std::string text = problems.size() == 1 ? "the pipeline has a problem:"
                                          : fmt::format("the pipeline has {} problems:", problems.size());
  for (const Problem& problem : problems)
    text += fmt::format("\n  {}: {}; {}", problem.op, problem.message, problem.remedy);
  return invalid_argument(std::move(text));
}

}  // namespace forebay
