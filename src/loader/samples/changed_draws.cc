#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "loader/describe/step_arguments.h"
#include "loader/samples/plan_edit.h"
#include "ops/definition/args.h"
#include "pipeline/op_spec.h"
#include "plan/numbering.h"

namespace forebay {

namespace {

constexpr const char* kNeedsDraws = "the pipeline has no .sample() and no .balance(), whose draws weights decide";
constexpr size_t kLongestVersion = 64;  // bytes, since it is part of every state

struct SampleWeights {
  std::vector<double> by_id;
  std::string version, part;

  std::string hash() const { return hash128(by_id.data(), by_id.size() * sizeof(double)).to_string(); }
};

Status refused(const std::string& why) { return invalid_argument(fmt::format("set_sampling(): {}", why)); }

const OpSpec* drawing_step(const BranchData& branch) {
  return find_step(branch.branch.description, OpEffect::kDrawing);
}

// The path of the data set that the user means.
Result<std::string> find_drawn(const DataPlan& data, const std::string& part) {
  std::vector<std::string> names;
  for (const BranchData& branch : data.branches) {
    if (drawing_step(branch) != nullptr) names.push_back(branch.branch.name());
    for (const BranchData& partner : branch.choosing)
      if (partner.has_own_draws()) names.push_back(partner.branch.name());
  }
  if (names.empty()) return refused(kNeedsDraws);
  if (part.empty() && names.size() == 1) return names.front();
  if (part.empty() && std::ranges::find(names, "") == names.end())
    return refused(fmt::format("several parts have draws; name one of them: {}", quoted_list(names)));
  if (std::ranges::find(names, part) != names.end()) return part;
  if (names.size() == 1 && names.front().empty())
    return refused(fmt::format("there is no part '{}': the pipeline is of one data set", part));
  return refused(fmt::format("there is no part '{}'{} that has draws; those are {}", part, suggestion_text(part, names),
                             quoted_list(names)));
}

Status check(const SampleWeights& weights, const Source& source) {
  if (weights.version.size() > kLongestVersion || !is_utf8(weights.version))
    return refused(
        fmt::format("the version is no UTF-8 or has more than {} bytes; give a short text", kLongestVersion));
  if (static_cast<int64_t>(weights.by_id.size()) != source.size())
    return refused(fmt::format("there are {} weights, and the data set has {} samples; give one for each, by id",
                               weights.by_id.size(), source.size()));
  const auto wrong = std::ranges::find_if(weights.by_id, [](double one) { return !std::isfinite(one) || one < 0; });
  if (wrong == weights.by_id.end()) return {};
  const int64_t id = wrong - weights.by_id.begin();
  return refused(
      fmt::format("the weight of sample {} ({}) is {}; weights are finite and at least 0", id, source.key(id), *wrong));
}

// The weights of the samples that take part.
Result<std::shared_ptr<const GivenWeights>> given(const SampleWeights& weights, const BranchData& branch) {
  FOREBAY_RETURN_IF_ERROR(check(weights, *branch.source));
  const Selection& selection = *branch.chosen.selection;
  const OpSpec& step = *drawing_step(branch);
  auto all = std::make_shared<GivenWeights>(GivenWeights{weights.version, weights.hash(), {}});
  all->draws.count = branch.ordering.order->size();
  all->draws.once = !step.args.value("replacement", true);
  all->draws.weights.reserve(static_cast<size_t>(selection.size()));
  for (int64_t i = 0; i < selection.size(); ++i)
    all->draws.weights.push_back(weights.by_id[static_cast<size_t>(selection.id_at(i))]);
  if (all->draws.count == 0) return refused("the data set has no samples that could be drawn");
  if (std::ranges::all_of(all->draws.weights, [](double one) { return one == 0; }))
    return refused("all weights are 0; at least one sample needs a weight above 0");
  return std::shared_ptr<const GivenWeights>(std::move(all));
}

// Weights may change inside a pass if the rest of it does not depend on what has come.
// The draws of a part have epochs of their own, which end elsewhere than those of the pipeline.
Status check_inside(const GivenWeights& given, const std::string& path, const Order::Use& draw) {
  const int64_t count = given.draws.count;
  if (draw.position == 0 || (!given.draws.once && count <= int64_t{1} << 30)) return {};
  return refused(fmt::format(
      "{}, so weights change between epochs only; an epoch{} has {} draws, and {} of this one are left: call it behind "
      "them{}",
      given.draws.once ? "with replacement=False no sample comes twice in an epoch"
                       : "an epoch has more than 2^30 draws",
      path.empty() ? "" : fmt::format(" of the part '{}'", path), count, count - draw.position,
      given.draws.once ? ", or leave replacement=False out" : ""));
}

// The number of the next draw of a branch, and of its parts that are drawn as often.
int64_t next_draw(const DataPlan& data, size_t branch, const Cursor& at) {
  const int64_t draws = data.branches[branch].ordering.order->size();
  return Numbering(draws).number_of(data.plan->next_draw(branch, {at.epoch, at.position}));
}

Result<DataPlan> with_draws(const SampleWeights& weights, const DataPlan& data, const Cursor& at) {
  FOREBAY_ASSIGN(const std::string path, find_drawn(data, weights.part));
  DataPlan changed = data;
  size_t number = 0;
  BranchData& branch = *find_data_set(changed, path, &number);
  FOREBAY_ASSIGN(branch.given, given(weights, branch));
  const auto before = data.changes.redrawn.find(path);
  if (before != data.changes.redrawn.end() && before->second.hash == branch.given->hash &&
      before->second.version == branch.given->version)
    return changed;
  const int64_t next = next_draw(data, number, at);
  FOREBAY_RETURN_IF_ERROR(check_inside(*branch.given, path, Numbering(branch.given->draws.count).use_of(next)));
  changed.changes.redrawn[path] = {next, branch.given->version, branch.given->hash};
  changed.changes.since = at;
  return changed;
}

}  // namespace

PlanEdit set_sample_weights(std::vector<double> weights, std::string version, std::string part) {
  const auto all =
      std::make_shared<const SampleWeights>(SampleWeights{std::move(weights), std::move(version), std::move(part)});
  return {"set_sampling()",
          fmt::format("part '{}', version '{}', weights {}", all->part, all->version, all->hash().substr(0, 12)),
          kNeedsDraws,
          [all](const Description&, const DataPlan& data, const Cursor& at) { return with_draws(*all, data, at); }};
}

}  // namespace forebay
