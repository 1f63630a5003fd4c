#include "base/single_flight.h"

#include <utility>

namespace forebay {

std::unique_ptr<SingleFlight::Flight> SingleFlight::begin(const Hash128& entry) {
  const Lock lock(mutex_);
  if (!flights_.try_emplace(entry).second) return nullptr;
  return std::unique_ptr<Flight>(new Flight(shared_from_this(), entry));
}

bool SingleFlight::wait(const Hash128& entry, Wait what, std::function<void()> told) {
  const Lock lock(mutex_);
  const auto found = flights_.find(entry);
  if (found == flights_.end() || (what == Wait::kWorking && !found->second.look.working)) return false;
  found->second.waiting.push_back(std::move(told));
  return true;
}

std::optional<SingleFlight::Look> SingleFlight::look(const Hash128& entry) const {
  const Lock lock(mutex_);
  const auto found = flights_.find(entry);
  return found != flights_.end() ? std::optional(found->second.look) : std::nullopt;
}

size_t SingleFlight::size() const {
  const Lock lock(mutex_);
  return flights_.size();
}

SingleFlight::Told SingleFlight::end(const Hash128& entry) {
  State ended;  // destroyed after the lock is released
  const Lock lock(mutex_);
  const auto found = flights_.find(entry);
  ended = std::move(found->second);
  flights_.erase(found);
  return std::move(ended.waiting);
}

SingleFlight::Told SingleFlight::pause(const Hash128& entry, std::optional<Stored> stored) {
  const Lock lock(mutex_);
  State& state = flights_.find(entry)->second;
  state.look.working = false;
  if (stored) state.look.stored = std::move(stored);
  return std::exchange(state.waiting, Told());
}

void SingleFlight::resume(const Hash128& entry) {
  const Lock lock(mutex_);
  flights_.find(entry)->second.look.working = true;
}

SingleFlight::Flight::~Flight() {
  for (const auto& tell : end()) tell();
}

SingleFlight::Told SingleFlight::Flight::end() { return std::exchange(ended_, true) ? Told() : flights_->end(entry_); }

}  // namespace forebay
