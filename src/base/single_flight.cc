#include "base/single_flight.h"

#include <utility>

namespace forebay {

std::unique_ptr<SingleFlight::Flight> SingleFlight::begin(const Hash128& entry) {
  const Lock lock(mutex_);
  if (!flights_.try_emplace(entry).second) return nullptr;
  return std::unique_ptr<Flight>(new Flight(shared_from_this(), entry));
}

bool SingleFlight::subscribe(const Hash128& entry, Wait what, std::function<void()> callback) {
  const Lock lock(mutex_);
  const auto found = flights_.find(entry);
  if (found == flights_.end() || (what == Wait::kWorking && !found->second.state.working)) return false;
  found->second.waiting.push_back(std::move(callback));
  return true;
}

std::optional<SingleFlight::FlightState> SingleFlight::state(const Hash128& entry) const {
  const Lock lock(mutex_);
  const auto found = flights_.find(entry);
  return found != flights_.end() ? std::optional(found->second.state) : std::nullopt;
}

size_t SingleFlight::size() const {
  const Lock lock(mutex_);
  return flights_.size();
}

SingleFlight::Callbacks SingleFlight::end(const Hash128& entry) {
  Record ended;  // destroyed after the lock is released
  const Lock lock(mutex_);
  const auto found = flights_.find(entry);
  ended = std::move(found->second);
  flights_.erase(found);
  return std::move(ended.waiting);
}

SingleFlight::Callbacks SingleFlight::pause(const Hash128& entry, std::optional<Stored> stored) {
  const Lock lock(mutex_);
  Record& record = flights_.find(entry)->second;
  record.state.working = false;
  if (stored) record.state.stored = std::move(stored);
  return std::exchange(record.waiting, Callbacks());
}

void SingleFlight::resume(const Hash128& entry) {
  const Lock lock(mutex_);
  flights_.find(entry)->second.state.working = true;
}

SingleFlight::Flight::~Flight() {
  for (const auto& callback : end()) callback();
}

SingleFlight::Callbacks SingleFlight::Flight::end() {
  return std::exchange(ended_, true) ? Callbacks() : flights_->end(entry_);
}

}  // namespace forebay
