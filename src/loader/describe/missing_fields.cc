#include "loader/describe/missing_fields.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "loader/describe/check.h"
#include "ops/missing_fields.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

// The step that a mix added to a branch, and the fields before it.
struct Member {
  Branch* branch;
  size_t step;
  Schema schema;
};

Schema schema_before(const Branch& branch, size_t step, const Schema& source) {
  const std::vector<OpSpec>& steps = branch.description.steps();
  const Description first = Description::of({steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(step)});
  return infer(first, source, catalog(), Rules::kFields).schemas.back();
}

// The fields of the branches of one mix.
class MixFields {
 public:
  explicit MixFields(std::vector<Member> members) : members_(std::move(members)) {
    for (const Member& member : members_)
      for (const Field& field : member.schema)
        if (!all_.find(field.name)) all_.push_back(field);
  }

  void complete(std::vector<Problem>& problems) {
    for (const Member& member : members_) {
      Json fields = Json::array(), valid = Json::object();
      for (const Field& field : all_) {
        if (!is_partial(field)) continue;
        const bool has = !lacks(member, field);
        if (!has) fields.push_back(json_of_field(field));
        const std::string flag = field.name + kValidEnding;
        if (!all_.find(flag) && !field.name.ends_with(kValidEnding)) valid[flag] = has;
      }
      std::vector<OpSpec> steps = member.branch->description.steps();
      steps[member.step].args = {{"fields", std::move(fields)}, {"valid", std::move(valid)}};
      member.branch->description = Description::of(std::move(steps));
    }
    for (const Field& field : all_) {
      const std::optional<std::string> reason = is_partial(field) ? no_zeros(field) : std::nullopt;
      if (!reason) continue;
      const Member& first = members_.front();
      problems.push_back({place_of(first.branch->description.steps(), first.step),
                          fmt::format("some parts lack the field '{}', and it has no zeros: {}", field.name, *reason),
                          "give it one shape and type before, or drop it with .select()"});
    }
  }

 private:
  static bool lacks(const Member& member, const Field& field) {
    return !member.schema.open_ended && !member.schema.find(field.name);
  }
  bool is_partial(const Field& field) const {
    return std::ranges::any_of(members_, [&](const Member& member) { return lacks(member, field); });
  }

  const std::vector<Member> members_;
  Schema all_;
};

}  // namespace

std::vector<Problem> complete_missing_fields(std::vector<Branch>& branches, std::span<const Schema> sources) {
  // By number of the mix: those within others have smaller ones.
  std::map<size_t, std::vector<std::pair<size_t, size_t>>> mixes;
  for (size_t i = 0; i < branches.size(); ++i) {
    const std::vector<OpSpec>& steps = branches[i].description.steps();
    for (size_t step = 1; step < steps.size(); ++step)
      if (steps[step].name == "fill_missing") mixes[branches[i].numbers[step]].emplace_back(i, step);
  }
  std::vector<Problem> problems;
  for (const auto& [number, steps] : mixes) {
    std::vector<Member> members;
    for (const auto& [branch, step] : steps)
      members.push_back({&branches[branch], step, schema_before(branches[branch], step, sources[branch])});
    MixFields(std::move(members)).complete(problems);
  }
  return problems;
}

}  // namespace forebay
