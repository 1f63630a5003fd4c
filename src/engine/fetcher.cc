#include "engine/fetcher.h"

#include <utility>

namespace forebay {

namespace {

std::unique_ptr<RequestSlots::Share> share_of(Store& store, const FetcherOptions& options) {
  const std::shared_ptr<RequestSlots> slots = options.find_requests ? store.slots() : nullptr;
  return slots ? std::make_unique<RequestSlots::Share>(slots, options.ranks) : nullptr;
}

}  // namespace

StoreLine::StoreLine(Store& store, const FetcherOptions& options)
    : store_(store), near_(store.reads_now()), requests_(options.requests), share_(share_of(store, options)),
      reading_(store.begin_reading()), limit_(most()) {}

// A linear search: there are few stores. The data set has one (a manifest may name several), and a
// cache's disk is another.
StoreLine& Fetcher::line(Store& store) {
  for (const auto& line : lines_) {
    if (&line->store_ == &store) return *line;
  }
  return *lines_.emplace_back(std::make_unique<StoreLine>(store, options_));
}

void Fetcher::refresh() {
  for (const auto& line : lines_) line->refresh();
}

void Fetcher::leave() {
  for (const auto& line : lines_) line->reading_.reset();
}

void Fetcher::begin(const Flight& flight) {
  ++flight.line_.in_flight_;
  ++in_flight_;
}

bool Flight::set_aside(uint64_t bytes) {
  const Lock lock(mutex_);
  if (has_landed_ || bytes <= claim_.bytes()) return !has_landed_;
  const uint64_t more = bytes - claim_.bytes();
  return may_take(more) && claim_.try_grow(more);
}

uint64_t Flight::claimed_bytes() const {
  const Lock lock(mutex_);
  return claim_.bytes();
}

Claim Flight::take_claim() {
  const Lock lock(mutex_);
  has_landed_ = true;
  return std::move(claim_);
}

void Fetcher::send(const FlightPtr& flight) {
  StoreLine& line = flight->line_;
  // Set before read(), because the answer reads it and may come from inside read().
  flight->begun_ns_ = monotonic_ns();
  if (line.share_) flight->sent_ = line.share_->sent();
  if (flight->request_.set_aside_bytes && !flight->request_.expected_size) {
    // Weak, because the flight owns its request. A hedged request may still run after the flight
    // has landed.
    flight->request_.set_aside = [weak = std::weak_ptr(flight)](uint64_t bytes) {
      const FlightPtr on_its_way = weak.lock();
      return on_its_way != nullptr && on_its_way->set_aside(bytes);
    };
  }
  line.store_.read(flight->request_, stop_.get_token(), [flight, &counters = counters_](Result<Buffer> result) {
    // Called before landed(), which may destroy the loader and with it the line.
    if (flight->line_.share_) flight->line_.share_->ended(flight->sent_, result.ok());
    counters.waiting_ns.fetch_add(monotonic_ns() - flight->begun_ns_, std::memory_order_relaxed);
    flight->landed(std::move(result));
  });
}

void Fetcher::end(const Flight& flight) {
  --flight.line_.in_flight_;
  --in_flight_;
}

}  // namespace forebay
