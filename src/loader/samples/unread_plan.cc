#include "loader/samples/unread_plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "loader/compile/bucket_step.h"
#include "loader/compile/packing_step.h"
#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

const OpSpec* first_deciding_step(const std::vector<Branch>& branches) {
  for (const Branch& branch : branches) {
    if (const OpSpec* const step = find_step(branch.description, OpEffect::kDrawing)) return step;
    if (const OpSpec* const step = measuring_step(branch.description)) return step;
    if (const OpSpec* const step = first_deciding_step(branch.choosing)) return step;
  }
  return nullptr;
}

const OpSpec* filter_of_part(const std::vector<Branch>& branches) {
  for (const Branch& branch : branches)
    for (const Branch& part : branch.choosing)
      if (const OpSpec* const step = find_step(part.description, OpEffect::kSelection)) return step;
  return nullptr;
}

Status check_names(const std::vector<BranchData>& branches, const std::map<std::string, int64_t>& sizes,
                   std::string_view what) {
  for (const BranchData& data : branches) {
    if (sizes.contains(data.branch.name())) continue;
    if (data.branch.path.empty()) return invalid_argument(fmt::format("{}: give one number of samples", what));
    return invalid_argument(
        fmt::format("{0}: there is none for the part '{1}'; give each part its number of samples, "
                    "as {1}=1000",
                    what, data.branch.name()));
  }
  for (const auto& [name, size] : sizes) {
    if (std::ranges::none_of(branches, [&](const BranchData& data) { return data.branch.name() == name; }))
      return invalid_argument(fmt::format("{}: there is no part '{}'", what, name));
  }
  return {};
}

}  // namespace

Status choose_unread(BranchData* branch, int64_t size, std::string_view what) {
  for (BranchData& part : branch->choosing) {
    const OpSpec* const filter = find_step(part.branch.description, OpEffect::kSelection);
    if (filter != nullptr)
      return unsupported(
          fmt::format("{} is not for .{}() in the part '{}' of a zip yet, whose pairs follow from what is read; put it "
                      "behind the zip",
                      what, filter->name, part.branch.path.back()));
    if (part.source) part.chosen.selection = select_unread(part.branch.description, part.source.get(), 0);
  }
  FOREBAY_RETURN_IF_ERROR(join_chosen_parts(branch));
  branch->chosen.selection = select_unread(branch->branch.description, branch->source.get(), size);
  return {};
}

const OpSpec* deciding_step(const Description& description) { return first_deciding_step(branches_of(description)); }

const OpSpec* deciding_step_or_filter_of_part(const Description& description) {
  const OpSpec* const step = deciding_step(description);
  return step != nullptr ? step : filter_of_part(branches_of(description));
}

Result<DataPlan> unread_plan(const Description& description, std::shared_ptr<const Source> source,
                             const std::map<std::string, int64_t>& sizes, uint64_t seed, std::string_view what) {
  if (const OpSpec* const step = deciding_step(description))
    return unsupported(
        fmt::format("{} is not for .{}() yet: which samples come when follows from values that are read; leave that "
                    "step out",
                    what, step->name));
  if (shared_packing(branches_of(description).front().description) != nullptr)
    return unsupported(
        fmt::format("{} is not for blocks that are made anew in each epoch yet, which follow from lengths that are "
                    "read; leave .pack() out",
                    what));
  DataPlan data;
  data.branches = begin_branches(description, std::move(source), seed);
  if (data.branches.front().source == nullptr) FOREBAY_RETURN_IF_ERROR(check_names(data.branches, sizes, what));
  for (BranchData& branch : data.branches) {
    FOREBAY_RETURN_IF_ERROR(choose_unread(&branch, branch.source ? 0 : sizes.at(branch.branch.name()), what));
  }
  FOREBAY_RETURN_IF_ERROR(order_branches(description, seed, &data));
  return data;
}

std::vector<double> shares_of_branches(const PlanNode& plan) {
  constexpr int64_t kLookedAt = 65'536;
  std::vector<double> shares(plan.leaves());
  const int64_t all = std::min(plan.size(), kLookedAt);
  std::array<Draw, 1024> draws;
  for (int64_t begin = 0; begin < all; begin += static_cast<int64_t>(draws.size())) {
    const std::span<Draw> here =
        std::span(draws).first(static_cast<size_t>(std::min(all - begin, static_cast<int64_t>(draws.size()))));
    plan.draws(0, begin, here);
    for (const Draw& draw : here) shares[static_cast<size_t>(draw.leaf)] += 1 / static_cast<double>(all);
  }
  return shares;
}

}  // namespace forebay
