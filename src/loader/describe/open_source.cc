#include "loader/describe/open_source.h"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "format/joined/stores_of.h"
#include "loader/describe/check.h"
#include "loader/describe/parted_source.h"
#include "loader/describe/sources.h"
#include "pipeline/op_spec.h"
#include "store/store.h"

namespace forebay {

Result<StoreAndPath> open_store_for(const std::string& url, const OpenSourceOptions& options) {
  FOREBAY_ASSIGN(StoreAndPath place, open_store(url, options.storage_options, options.requests));
  place.warnings = options.warnings;
  return place;
}

Result<std::shared_ptr<const Source>> open_source(const OpSpec& source, const OpenSourceOptions& options) {
  if (source.opened) return source.opened;
  const SourceDef* const def = find_source(source.name);
  return def == nullptr ? problems_as_status(check(Description(source))) : def->open(source, options);
}

std::shared_ptr<void> begin_reading(const Source& source) {
  if (const PartedSource* const parted = as_parted(source)) {
    auto all = std::make_shared<std::vector<std::shared_ptr<void>>>();
    for (const auto& branch : parted->branch_sources()) all->push_back(begin_reading(*branch));
    return all;
  }
  if (source.size() == 0) return nullptr;
  auto marks = std::make_shared<std::vector<std::shared_ptr<void>>>();
  const auto mark = [&](Store* store) {
    if (store != nullptr) marks->push_back(store->begin_reading());
  };
  if (const auto* chunks = source.as_chunks()) {
    mark(chunks->chunk_fetch(0).store);
  } else {
    for (Store* const store : stores_of(*source.as_samples(), 0)) mark(store);
  }
  return marks;
}

namespace {

Result<std::vector<std::string>> class_names_of_parts(const OpSpec& source, const OpenSourceOptions& options) {
  std::optional<std::vector<std::string>> first;
  for (const PipelinePart& part : source.parts) {
    if (part.pipeline.steps().empty()) return problems_as_status(check(Description(source)));
    FOREBAY_ASSIGN(std::vector<std::string> names, class_names(part.pipeline.steps().front(), options));
    if (first && names != *first)
      return invalid_argument(
          fmt::format("the parts '{}' and '{}' have different classes; give the same classes= to both",
                      source.parts.front().name, part.name));
    first = std::move(names);
  }
  return first.value_or(std::vector<std::string>());
}

}  // namespace

Result<std::vector<std::string>> class_names(const OpSpec& source, const OpenSourceOptions& options) {
  if (const SourceDef* const def = find_source(source.name); def != nullptr && def->classes)
    return def->classes(source, options);
  if (!source.parts.empty()) return class_names_of_parts(source, options);
  return invalid_argument(
      fmt::format("the source is {}; only images have classes (the folders below the root)", source.name));
}

}  // namespace forebay
