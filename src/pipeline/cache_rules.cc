#include "pipeline/cache_rules.h"

#include <fmt/format.h>

#include "base/byte_size.h"

namespace forebay {

namespace {

Json arg_of(const OpSpec& op, const char* name) {
  const auto found = op.args.find(name);
  return found == op.args.end() ? Json() : *found;
}

/// Kept on disk unless switched off; wrong sizes are the operator's own problem.
bool keeps_on_disk(const OpSpec& cache, const Catalog& catalog) {
  Json disk = arg_of(cache, "disk");
  const OpDef* def = catalog.find(cache.name);
  for (const ArgDef& arg : def == nullptr ? std::vector<ArgDef>() : def->args) {
    if (arg.name == "disk" && disk.is_null()) disk = arg.default_value;
  }
  if (disk.is_string()) return parse_byte_size(disk.get<std::string>()).value_or(1) != 0;
  return !disk.is_number() || disk != 0;
}

bool unversioned(const OpSpec& op) { return op.name == "map" && !arg_of(op, "version").is_string(); }

}  // namespace

bool is_random_step(const OpSpec& op, const Catalog& catalog) {
  const OpDef* def = catalog.find(op.name);
  const Json random = arg_of(op, "random");
  return (def != nullptr && def->random) || (op.name == "map" && random.is_boolean() && random.get<bool>());
}

std::vector<Problem> cache_problems(const std::vector<OpSpec>& steps, size_t step, const Catalog& catalog) {
  std::vector<Problem> problems;
  if (steps[step].name != "cache") return problems;
  const std::string place = fmt::format("{}: cache", step);
  for (size_t i = 1; i < step; ++i) {
    if (is_random_step(steps[i], catalog)) {
      problems.push_back({place,
                          fmt::format("it stands behind {}: {}, which draws anew in every epoch: the results would be "
                                      "frozen",
                                      i, steps[i].name),
                          fmt::format("put .cache() before {}: {}", i, steps[i].name)});
      break;
    }
  }
  for (size_t i = 1; i < step && keeps_on_disk(steps[step], catalog); ++i) {
    if (unversioned(steps[i])) {
      problems.push_back({place,
                          fmt::format("a later run cannot tell whether the function of {}: {} is still the same, and "
                                      "would get results of an older one from the disk",
                                      i, steps[i].name),
                          "give .map(…, version=\"1\") and change it with the function, or use .cache(disk=0), or put "
                          ".cache() before it"});
    }
  }
  if (step > 1 && steps[step - 1].name == "cache") {
    problems.push_back({place, fmt::format("{}: cache keeps the same already", step - 1),
                        "keep one .cache(); it has a tier in memory and one on disk"});
  }
  return problems;
}

}  // namespace forebay
