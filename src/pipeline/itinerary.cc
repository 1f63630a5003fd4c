#include "pipeline/itinerary.h"

#include <utility>

namespace forebay {

std::optional<ReplaySample> StepPlan::replayed_sample(int64_t row) const {
  const auto index = static_cast<size_t>(row);
  if (index >= replayed_at && index < replayed_at + replayed.size()) return replayed[index - replayed_at];
  for (const MissingRow& missing : missing_rows) {
    if (missing.row == index) return missing.sample;
  }
  return std::nullopt;
}

IndexedItinerary::IndexedItinerary(std::shared_ptr<const Order> order, Schedule schedule, uint64_t seed, int64_t rank,
                                   std::optional<int64_t> epochs, std::shared_ptr<const Packing> packing)
    : order_(std::move(order)), schedule_(std::move(schedule)), seed_(seed), rank_(rank), epochs_(epochs),
      packing_(std::move(packing)) {}

bool IndexedItinerary::finished(const Cursor& at) const {
  return schedule_.steps() == 0 || (epochs_ && normalized(at).epoch >= *epochs_);
}

Cursor IndexedItinerary::normalized(const Cursor& at) const {
  if (schedule_.steps_left(at.position) > 0) return at;
  // One epoch further is enough, since finished() has excluded epochs without steps.
  return {at.epoch + 1, 0, 0};
}

std::optional<StepPlan> IndexedItinerary::planned(const Cursor& requested) const {
  if (finished(requested)) return std::nullopt;
  StepPlan plan;
  plan.at = normalized(requested);
  plan.after = normalized({plan.at.epoch, schedule_.next_position(plan.at.position), plan.at.step + 1});
  schedule_.rows({plan.at.epoch, plan.at.position}, rank_, &plan.rows);
  if (packing_) unpack(plan);
  return plan;
}

// Replaces the blocks of a plan by their sequences.
void IndexedItinerary::unpack(StepPlan& plan) const {
  const std::vector<Row> blocks = std::exchange(plan.rows, {});
  for (const Row& block : blocks) {
    const int64_t number = order_->id_at(plan.at.epoch, block.position);
    plan.blocks.push_back({number, block, plan.rows.size()});
    packing_->pieces(number, &plan.pieces);
    // All sequences of a block share its row: position, occurrence and padding are the block's.
    plan.rows.resize(plan.pieces.size(), block);
  }
}

// Looks runs of consecutive positions up together, which is much faster than one by one.
std::vector<int64_t> IndexedItinerary::indices(const StepPlan& step) const {
  const size_t n = step.rows.size();
  std::vector<int64_t> indices(n);
  if (packing_) {
    for (size_t i = 0; i < n; ++i) indices[i] = step.pieces[i].sequence;
    return indices;
  }
  for (size_t begin = 0; begin < n;) {
    size_t end = begin + 1;
    while (end < n && step.rows[end].position == step.rows[end - 1].position + 1) ++end;
    order_->ids_at(step.at.epoch, step.rows[begin].position, {indices.data() + begin, end - begin});
    begin = end;
  }
  return indices;
}

int64_t IndexedItinerary::index(const StepPlan& step, int64_t row) const {
  const auto at = static_cast<size_t>(row);
  return packing_ ? step.pieces[at].sequence : order_->id_at(step.at.epoch, step.rows[at].position);
}

int64_t IndexedItinerary::replacement(int64_t epoch, int64_t position, int64_t attempt) const {
  return order_->id_at(epoch, replacement_position(seed_, epoch, position, attempt - 1, *order_));
}

}  // namespace forebay
