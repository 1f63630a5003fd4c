#include <algorithm>

#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

bool are_names(const Json& names) {
  return names.is_object() && !names.empty() &&
         std::all_of(names.begin(), names.end(), [](const Json& name) { return name.is_string() && name != ""; });
}

// Renames all fields at once, so that two fields can exchange names.
void infer_rename(const Args& args, Schema& schema, Problems& problems) {
  const Json& names = args.json("names");
  if (!are_names(names)) {
    return problems.add(fmt::format("names is {}", json_text(names)), "give {\"old name\": \"new name\"}");
  }
  std::vector<std::string> olds;
  for (const auto& [old_name, new_name] : names.items()) olds.push_back(old_name);
  const std::vector<size_t> indices = check_fields(olds, schema, problems);
  if (problems.any()) return;
  for (size_t i = 0; i < olds.size(); ++i) schema[indices[i]].name = names[olds[i]].get<std::string>();
  for (size_t i = 0; i < schema.size(); ++i) {
    // find() returns the first field of a name, so any other field of that name is a duplicate.
    if (*schema.find(schema[i].name) == i) continue;
    problems.add(fmt::format("two fields would be called '{}'", schema[i].name),
                 "give another name, or drop one with .select");
  }
}

class RenameColumns final : public ColumnOp {
 public:
  explicit RenameColumns(Json names) : names_(std::move(names)) {}
  Status apply(Columns& columns, WorkMemory&) const override {
    for (size_t i = 0; i < columns.schema.size(); ++i) {
      std::string& name = columns.schema[i].name;
      if (const auto found = names_.find(name); found != names_.end()) name = found->get<std::string>();
    }
    return {};
  }

 private:
  Json names_;
};

// Records have no names, so there is nothing to do.
class RenameRecord final : public RecordOp {
 public:
  Status apply(Record&, const SampleContext&) const override { return {}; }
};

Result<std::unique_ptr<RecordOp>> compile_rename(const Args&, const Schema&, uint32_t) {
  return std::unique_ptr<RecordOp>(std::make_unique<RenameRecord>());
}

Result<std::unique_ptr<ColumnOp>> compile_rename_columns(const Args& args, const Schema&) {
  return std::unique_ptr<ColumnOp>(std::make_unique<RenameColumns>(args.json("names")));
}

FieldUse rename_uses(const OpSpec& spec, const Schema&) {
  FieldUse use;
  if (const auto names = spec.args.find("names"); names != spec.args.end() && are_names(*names)) {
    for (const auto& [old_name, new_name] : names->items()) {
      use.reads.push_back(old_name);
      use.makes.push_back(new_name.get<std::string>());
    }
  }
  return use;
}

}  // namespace

OpDef rename_op() {
  return make_op({.name = "rename",
                  .help = "Gives fields new names: `.rename(old=\"new\")`.",
                  .args = {{"names", ArgType::kPairs, true, nullptr, "old name to new name", ArgForm::kPairs}},
                  .random = false,
                  .infer = infer_rename,
                  .compile = compile_rename,
                  .compile_columns = compile_rename_columns,
                  .role = OpRole::kNames,
                  .uses = rename_uses});
}

}  // namespace forebay
