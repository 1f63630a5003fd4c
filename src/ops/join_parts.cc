#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "pipeline/part_fields.h"

// The step with which the parts of a zip end: before it a field is named after its part, as
// "mask/image", and behind it by its own name.

namespace forebay {
namespace {

struct JoinedName {
  size_t index = 0;  // of the field
  std::string part, name;
};

// The fields that belong to a part, with their own names.
std::vector<JoinedName> joined_names(const OpSpec& spec, const Schema& schema) {
  std::vector<JoinedName> names;
  const auto parts = spec.args.find("of");
  if (parts == spec.args.end()) return names;
  for (size_t i = 0; i < schema.size(); ++i) {
    for (const std::string& part : field_list(*parts))
      if (std::optional<std::string> name = name_in_part(part, schema[i].name))
        names.push_back({i, part, std::move(*name)});
  }
  return names;
}

bool is_names(const Json& pairs) {
  return pairs.is_object() && std::ranges::all_of(pairs, [](const Json& name) { return name.is_string(); });
}

// The pairs that are given, once steps that nobody needs have been left out; otherwise those of all
// fields.
Json pairs_of(const OpSpec& spec, const Schema& before) {
  if (const auto given = spec.args.find("names"); given != spec.args.end() && is_names(*given)) return *given;
  Json pairs = Json::object();
  for (const JoinedName& joined : joined_names(spec, before)) pairs[before[joined.index].name] = joined.name;
  return pairs;
}

FieldUse join_uses(const OpSpec& spec, const Schema& before) {
  FieldUse use;
  const Json pairs = pairs_of(spec, before);
  for (const auto& [from, to] : pairs.items()) {
    use.reads.push_back(from);
    use.makes.push_back(to.get<std::string>());
  }
  return use;
}

void report_clash(const JoinedName& first, const JoinedName& second, std::vector<Problem>& problems) {
  problems.push_back(
      {"", fmt::format("the parts '{}' and '{}' both have the field '{}'", first.part, second.part, second.name),
       fmt::format("give it another name in the part '{}' with .rename({}=\"…\"), or keep others with .select()",
                   second.part, second.name)});
}

void check_parts(const OpSpec& spec, const Schema& schema, std::vector<Problem>& problems) {
  const std::vector<JoinedName> all = joined_names(spec, schema);
  for (const std::string& part : field_list(spec.args.value("of", Json()))) {
    if (schema.open_ended || std::ranges::find(all, part, &JoinedName::part) != all.end()) continue;
    problems.push_back({"", fmt::format("the part '{}' gives no fields", part),
                        "leave it out, or keep a field of it; 'key' and the field of on= are those of the first part"});
  }
}

std::vector<ArgDef> join_args() {
  return {{"of", ArgType::kFields, true, nullptr, "names of the parts"},
          {"names", ArgType::kPairs, false, nullptr, "the fields that are needed"}};
}

void infer_join(const OpSpec& spec, Schema& schema, std::vector<Problem>& problems) {
  Problems wrong(problems);
  check_args(spec.args, join_args(), wrong);
  if (wrong.any()) return;
  // Only the pipeline as written: in others, fields that nobody needs may be left out already.
  if (!spec.args.contains("names")) check_parts(spec, schema, problems);
  const Json pairs = pairs_of(spec, schema);
  std::vector<JoinedName> kept;
  std::set<size_t> dropped;  // later steps would report a second field of a name once more
  for (JoinedName& joined : joined_names(spec, schema)) {
    if (!pairs.contains(schema[joined.index].name)) continue;
    const auto first = std::ranges::find(kept, joined.name, &JoinedName::name);
    if (first == kept.end()) {
      kept.push_back(std::move(joined));
    } else {
      report_clash(*first, joined, problems);
      dropped.insert(joined.index);
    }
  }
  for (const JoinedName& joined : kept) schema[joined.index].name = joined.name;
  for (auto index = dropped.rbegin(); index != dropped.rend(); ++index) schema.erase(*index);
}

class JoinColumns final : public ColumnOp {
 public:
  explicit JoinColumns(Json pairs) : pairs_(std::move(pairs)) {}
  Status apply(Columns& columns, WorkMemory&) const override {
    for (size_t i = 0; i < columns.schema.size(); ++i) {
      std::string& name = columns.schema[i].name;
      if (const auto found = pairs_.find(name); found != pairs_.end()) name = found->get<std::string>();
    }
    return {};
  }

 private:
  const Json pairs_;
};

}  // namespace

OpDef join_parts_op() {
  OpDef def;
  def.name = "join_parts";
  def.help = "The fields of all parts of a zip, by their own names.";
  def.args = join_args();
  def.infer = infer_join;
  // Values do not change, and records have no names.
  def.compile = [](const OpSpec&, const Schema&, uint32_t) -> Result<std::unique_ptr<RecordOp>> {
    return std::unique_ptr<RecordOp>();
  };
  def.compile_columns = [](const OpSpec& spec, const Schema& before) -> Result<std::unique_ptr<ColumnOp>> {
    return std::unique_ptr<ColumnOp>(std::make_unique<JoinColumns>(pairs_of(spec, before)));
  };
  def.role = OpRole::kNames;
  def.made_by_sources = true;
  def.uses = join_uses;
  return def;
}

}  // namespace forebay
