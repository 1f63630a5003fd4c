#include <algorithm>

#include <fmt/format.h>

#include "ops/args.h"
#include "ops/registry.h"

namespace forebay {
namespace {

bool are_names(const Json& names) {
  return names.is_object() && !names.empty() &&
         std::all_of(names.begin(), names.end(), [](const Json& name) { return name.is_string() && name != ""; });
}

// All at once, so that two fields can change places.
void infer(const Args& args, Schema& schema, Problems& problems) {
  const Json& names = args.json("names");
  if (!are_names(names)) {
    return problems.add(fmt::format("names is {}", names.dump()), "give {\"old name\": \"new name\"}");
  }
  std::vector<std::string> olds;
  for (const auto& [old_name, new_name] : names.items()) olds.push_back(old_name);
  const std::vector<size_t> indices = check_fields(olds, schema, problems);
  if (problems.any()) return;
  for (size_t i = 0; i < olds.size(); ++i) schema[indices[i]].name = names[olds[i]].get<std::string>();
  for (size_t i = 0; i < schema.size(); ++i) {
    if (*schema.find(schema[i].name) == i) continue;
    problems.add(fmt::format("two fields would be called '{}'", schema[i].name),
                 "give another name, or drop one with .select");
  }
}

}  // namespace

OpDef rename_op() {
  return make_op({.name = "rename",
                  .help = "Gives fields other names.",
                  .args = {{"names", ArgType::kJson, true, nullptr, "old name to new name"}},
                  .random = false,
                  .infer = infer,
                  .compile = nullptr});
}

}  // namespace forebay
