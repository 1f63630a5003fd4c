#include "pipeline/itinerary.h"

#include <algorithm>
#include <array>
#include <utility>

#include "plan/packed_windows.h"

namespace forebay {

IndexedItinerary::IndexedItinerary(std::shared_ptr<const PlanNode> plan, std::vector<BranchSamples> branches,
                                   std::shared_ptr<const Schedule> schedule, int64_t rank,
                                   std::optional<int64_t> epochs)
    : plan_(std::move(plan)), branches_(std::move(branches)),
      has_partners_(std::ranges::any_of(branches_, [](const auto& branch) { return branch.partners != nullptr; })),
      schedule_(std::move(schedule)), rank_(rank), epochs_(epochs) {}

IndexedItinerary::IndexedItinerary(std::shared_ptr<const Order> order, BranchSamples samples, EqualBatches batches,
                                   int64_t rank, std::optional<int64_t> epochs)
    : IndexedItinerary(leaf_node(std::move(order)), std::vector<BranchSamples>(1, std::move(samples)),
                       std::make_shared<EqualBatches>(std::move(batches)), rank, epochs) {}

bool IndexedItinerary::finished(const Cursor& at) const {
  // Only epochs of blocks differ in their numbers of steps.
  if (schedule_->blocks() == nullptr && !schedule_->has_step({0, 0})) return true;
  const Cursor next = normalized(at);
  return epoch_over(next) || (epochs_ && next.epoch >= *epochs_);
}

Cursor IndexedItinerary::normalized(const Cursor& at) const {
  // One epoch further is enough, unless epochs have different numbers of blocks.
  constexpr int kMostWithoutSteps = 1000;
  Cursor next = at;
  for (int tried = 0; tried < kMostWithoutSteps && epoch_over(next); ++tried) next = {next.epoch + 1, 0, 0};
  return next;
}

std::optional<StepPlan> IndexedItinerary::planned(const Cursor& requested) const {
  if (finished(requested)) return std::nullopt;
  StepPlan plan;
  plan.at = normalized(requested);
  const Order::Use begin{plan.at.epoch, plan.at.position};
  plan.after = normalized({plan.at.epoch, schedule_->next_position(begin), plan.at.step + 1});
  schedule_->rows(begin, rank_, &plan.rows);
  locate(plan.at.epoch, plan.rows);
  if (const PackedWindows* const windows = schedule_->blocks())
    unpack_shared(*windows, plan);
  else if (branches_.front().packing)
    unpack(plan);
  return plan;
}

namespace {

constexpr size_t kRowsAtOnce = 256;  // draws that stay in the first cache

// The end of the run that begins at `begin`: of the elements for which `continues` holds.
template <class Continues>
size_t end_of_run(size_t begin, size_t size, Continues continues) {
  size_t end = begin + 1;
  while (end < size && continues(end)) ++end;
  return end;
}

}  // namespace

void IndexedItinerary::locate(int64_t epoch, std::span<Row> rows) const {
  if (schedule_->blocks() != nullptr) {
    for (Row& row : rows) {
      row.id = row.place = row.position;
      row.pass = epoch;
    }
    return;
  }
  std::array<int64_t, kRowsAtOnce> positions;
  for (size_t begin = 0; begin < rows.size(); begin += kRowsAtOnce) {
    const std::span<Row> some = rows.subspan(begin, std::min(kRowsAtOnce, rows.size() - begin));
    for (size_t i = 0; i < some.size(); ++i) positions[i] = some[i].position;
    const std::span<int64_t> used = std::span(positions).first(some.size());
    schedule_->to_plan_positions(epoch, used);
    locate_some(epoch, used, some);
  }
}

// Looks runs of consecutive positions up together, and the ids of runs of one branch, which is much
// faster than one by one.
void IndexedItinerary::locate_some(int64_t epoch, std::span<const int64_t> positions, std::span<Row> rows) const {
  const size_t n = rows.size();
  std::array<int64_t, kRowsAtOnce> ids;
  std::array<int32_t, kRowsAtOnce> occurrences;
  const auto is_next = [&](size_t i) { return positions[i] == positions[i - 1] + 1; };
  if (const Order* const only = plan_->as_leaf()) {
    for (size_t begin = 0, end = 0; begin < n; begin = end) {
      end = end_of_run(begin, n, is_next);
      only->uses_at(epoch, positions[begin], std::span(ids).subspan(begin, end - begin),
                    std::span(occurrences).subspan(begin, end - begin));
    }
    if (!branches_.front().packing) branches_.front().selection->ids_at(std::span(ids).first(n));
    for (size_t i = 0; i < n; ++i) {
      rows[i].occurrence += occurrences[i];
      rows[i].id = ids[i];
      rows[i].pass = epoch;
      rows[i].place = positions[i];
    }
    add_partners(rows);
    return;
  }
  std::array<Draw, kRowsAtOnce> draws;
  for (size_t begin = 0, end = 0; begin < n; begin = end) {
    end = end_of_run(begin, n, is_next);
    plan_->draws(epoch, positions[begin], std::span(draws).subspan(begin, end - begin));
  }
  for (size_t i = 0; i < n; ++i) ids[i] = draws[i].index;
  for (size_t begin = 0, end = 0; begin < n; begin = end) {
    end = end_of_run(begin, n, [&](size_t i) { return draws[i].leaf == draws[begin].leaf; });
    const BranchSamples& branch = branches_[static_cast<size_t>(draws[begin].leaf)];
    // The number of a block is no id.
    if (!branch.packing) branch.selection->ids_at(std::span(ids).subspan(begin, end - begin));
  }
  for (size_t i = 0; i < n; ++i) {
    rows[i].branch = static_cast<uint16_t>(draws[i].leaf);
    rows[i].occurrence += draws[i].occurrence;
    rows[i].id = ids[i];
    rows[i].pass = draws[i].pass;
    rows[i].place = draws[i].place;
  }
  add_partners(rows);
}

void IndexedItinerary::add_partners(std::span<Row> rows) const {
  if (!has_partners_) return;
  for (Row& row : rows)
    if (const auto& partners = branches_[row.branch].partners) row.id = partners->joined(row.id, row.pass, row.place);
}

// Replaces the blocks of a plan by their sequences.
void IndexedItinerary::unpack(StepPlan& plan) const {
  const std::vector<Row> blocks = std::exchange(plan.rows, {});
  for (const Row& block : blocks) {
    const BranchSamples& branch = branches_[block.branch];
    plan.blocks.push_back({block.id, block, plan.rows.size()});
    const size_t first = plan.pieces.size();
    branch.packing->pieces(block.id, &plan.pieces);
    // All sequences of a block share its row: position, occurrence and padding are the block's.
    plan.rows.resize(plan.pieces.size(), block);
    for (size_t i = first; i < plan.pieces.size(); ++i)
      plan.rows[i].id = branch.selection->id_at(plan.pieces[i].sequence);
  }
}

// The same for blocks of the whole plan. Each of their samples has its own place in its branch.
void IndexedItinerary::unpack_shared(const PackedWindows& windows, StepPlan& plan) const {
  const std::vector<Row> blocks = std::exchange(plan.rows, {});
  std::vector<Draw> draws;
  for (const Row& block : blocks) {
    plan.blocks.push_back({block.id, block, plan.pieces.size()});
    windows.pieces(plan.at.epoch, block.id, &plan.pieces, &draws);
    plan.rows.resize(plan.pieces.size(), block);
  }
  for (size_t i = 0; i < draws.size(); ++i) {
    Row& row = plan.rows[i];
    row.branch = static_cast<uint16_t>(draws[i].leaf);
    row.occurrence += draws[i].occurrence;
    row.id = branches_[row.branch].id_at(draws[i].index, draws[i].pass, draws[i].place);
    row.pass = draws[i].pass;
    row.place = draws[i].place;
  }
}

int64_t IndexedItinerary::replacement(const Row& row, int64_t attempt) const {
  const Order& order = plan_->order(row.branch);
  const BranchSamples& branch = branches_[row.branch];
  const int64_t place = replacement_position(branch.seed, row.pass, row.place, attempt - 1, order);
  return branch.id_at(order.id_at(row.pass, place), row.pass, place);
}

Order::Use IndexedItinerary::next_place(size_t branch, const Cursor& at) const {
  return plan_->next_draw(branch, {at.epoch, schedule_->first_plan_position({at.epoch, at.position})});
}

bool IndexedItinerary::has_pass(size_t branch, int64_t pass) const {
  const Order::Use first = plan_->position_of(branch, {pass, 0});
  if (first == PlanNode::kNever) return false;
  // Which of the blocks has that position is not asked: a window that begins in an epoch is
  // delivered, but for the blocks that last="drop" leaves out.
  if (schedule_->blocks() != nullptr) return !epochs_ || first.epoch < *epochs_;
  return !finished({first.epoch, first.position, 0});
}

}  // namespace forebay
