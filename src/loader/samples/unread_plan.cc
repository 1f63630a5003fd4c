#include "loader/samples/unread_plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "loader/compile/bucket_step.h"
#include "loader/compile/packing_step.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

Status check_readable(const BranchData& data, std::string_view what) {
  const Description& branch = data.branch.description;
  if (const OpSpec* const step = find_step(branch, OpEffect::kDrawing))
    return unsupported(
        fmt::format("{} is not for .{}() yet, which draws by what is read; leave that step out", what, step->name));
  if (const OpSpec* const step = measuring_step(branch))
    return unsupported(
        fmt::format("{} is not for .{}() yet, whose batches follow from lengths that are read; use "
                    ".batch(n)",
                    what, step->name));
  if (shared_packing(branch) != nullptr)
    return unsupported(fmt::format(
        "{} is not for blocks that are made anew in each epoch yet, which follow from lengths that are read; "
        "leave .pack() out",
        what));
  for (const BranchData& part : data.choosing) FOREBAY_RETURN_IF_ERROR(check_readable(part, what));
  return {};
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

Result<DataPlan> unread_plan(const Description& description, std::shared_ptr<const Source> source,
                             const std::map<std::string, int64_t>& sizes, uint64_t seed, std::string_view what) {
  DataPlan data;
  data.branches = begin_branches(description, std::move(source), seed);
  if (data.branches.front().source == nullptr) FOREBAY_RETURN_IF_ERROR(check_names(data.branches, sizes, what));
  for (BranchData& branch : data.branches) {
    FOREBAY_RETURN_IF_ERROR(check_readable(branch, what));
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
