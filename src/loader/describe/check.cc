#include "loader/describe/check.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "loader/describe/batch_functions.h"
#include "loader/describe/parted_source.h"
#include "loader/describe/source_args.h"
#include "loader/describe/sources.h"
#include "loader/describe/step_arguments.h"
#include "loader/describe/tree_rules.h"
#include "loader/describe/unbounded_rules.h"
#include "loader/describe/user_code.h"
#include "ops/definition/registry.h"
#include "pipeline/catalog.h"

namespace forebay {

const Catalog& catalog() {
  static const Catalog instance = [] {
    std::vector<OpDef> ops = all_ops();
    // Added here because they call functions of the user, which the module of operators does not
    // know.
    ops.push_back(map_op());
    ops.push_back(dataset_items_op());
    ops.push_back(filter_op());
    ops.push_back(map_batch_op());
    ops.push_back(collate_op());
    std::set<std::string, std::less<>> joining;
    for (const SourceDef& source : sources())
      if (source.joins_parts) joining.insert(source.name);
    return Catalog(std::move(ops), std::move(joining));
  }();
  return instance;
}

Schema announced_schema(const OpSpec& source) {
  const SourceDef* const def = find_source(source.name);
  if (def != nullptr) return def->announced(source);
  Schema unknown;
  unknown.open_ended = true;
  return unknown;
}

namespace {

// `schemas`: those of the opened sources of all branches; empty if they are not open yet.
std::vector<Problem> problems_of(const Description& description, std::span<const Schema> schemas) {
  if (is_tree(description)) return tree_problems(description, schemas);
  std::vector<Problem> problems = description.steps().empty()
                                      ? std::vector<Problem>{{"", "the pipeline is empty", "begin with a source"}}
                                      : check_source(description.steps().front());
  if (!problems.empty()) return problems;
  // Only if the source is right: otherwise its fields are unknown, and every step would report
  // that.
  const Schema source = schemas.empty() ? announced_schema(description.steps().front()) : schemas.front();
  problems = infer(description, source, catalog()).problems;
  for (Problem& problem : unbounded_problems(description)) problems.push_back(std::move(problem));
  return problems;
}

}  // namespace

std::vector<Problem> check(const Description& description) { return problems_of(description, {}); }

std::vector<Problem> check(const Description& description, const Source& source) {
  std::vector<Schema> schemas;
  if (const PartedSource* const parted = as_parted(source)) {
    for (const auto& branch : parted->branch_sources()) schemas.push_back(branch->schema());
  } else {
    schemas.push_back(source.schema());
  }
  return problems_of(description, schemas);
}

std::vector<Branch> branches_of(const Description& description) { return branches_of(description, catalog()); }

Status problems_as_status(const std::vector<Problem>& problems) {
  std::string text = problems.size() == 1 ? "the pipeline has a problem:"
                                          : fmt::format("the pipeline has {} problems:", problems.size());
  for (const Problem& problem : problems)
    text += fmt::format("\n  {}: {}; {}", problem.op, problem.message, problem.remedy);
  return invalid_argument(std::move(text));
}

}  // namespace forebay
