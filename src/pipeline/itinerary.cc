#include "pipeline/itinerary.h"

namespace forebay {

Itinerary::Itinerary(std::shared_ptr<const Order> order, Schedule schedule, uint64_t seed, int64_t rank,
                     std::optional<int64_t> epochs)
    : order_(std::move(order)), schedule_(std::move(schedule)), seed_(seed), rank_(rank), epochs_(epochs) {}

bool Itinerary::finished(const Cursor& at) const {
  return schedule_.steps() == 0 || (epochs_ && normalized(at).epoch >= *epochs_);
}

Cursor Itinerary::normalized(const Cursor& at) const {
  if (schedule_.steps_left(at.position) > 0) return at;
  return {at.epoch + 1, 0, 0};
}

std::optional<StepPlan> Itinerary::step(const Cursor& requested) const {
  if (finished(requested)) return std::nullopt;
  StepPlan plan;
  plan.at = normalized(requested);
  plan.after = normalized({plan.at.epoch, schedule_.next_position(plan.at.position), plan.at.step + 1});
  schedule_.rows({plan.at.epoch, plan.at.position}, rank_, &plan.rows);
  return plan;
}

int64_t Itinerary::stand_in(int64_t epoch, int64_t position, int64_t attempt) const {
  return index_at(epoch, stand_in_position(seed_, epoch, position, attempt - 1, *order_));
}

}  // namespace forebay
