#include "engine/fetcher.h"

#include <utility>

namespace forebay {

namespace {

std::unique_ptr<RequestSlots::Share> share_of(Store& store, const FetcherOptions& options) {
  const std::shared_ptr<RequestSlots> slots = options.find_requests ? store.slots() : nullptr;
  return slots ? std::make_unique<RequestSlots::Share>(slots, options.ranks) : nullptr;
}

}  // namespace

StoreQueue::StoreQueue(Store& store, const FetcherOptions& options)
    : store_(store), reads_now_(store.reads_now()), requests_(options.requests), share_(share_of(store, options)),
      reading_(store.begin_reading()), limit_(most()) {}

// A linear search: there are few stores. The data set has one (a manifest may name several), and a
// cache's disk is another.
StoreQueue& Fetcher::queue(Store& store) {
  for (const auto& queue : queues_) {
    if (&queue->store_ == &store) return *queue;
  }
  return *queues_.emplace_back(std::make_unique<StoreQueue>(store, options_));
}

void Fetcher::refresh() {
  for (const auto& queue : queues_) queue->refresh();
}

void Fetcher::leave() {
  for (const auto& queue : queues_) queue->reading_.reset();
}

void Fetcher::begin(const Flight& flight) {
  ++flight.queue_.in_flight_;
  ++in_flight_;
}

bool Flight::set_aside(uint64_t bytes) {
  const Lock lock(mutex_);
  if (has_landed_ || bytes <= claim_.bytes()) return !has_landed_;
  const uint64_t more = bytes - claim_.bytes();
  return may_take(more) && claim_.try_grow(more);
}

Claim Flight::take_claim() {
  const Lock lock(mutex_);
  has_landed_ = true;
  return std::move(claim_);
}

void Fetcher::send(const FlightPtr& flight) {
  StoreQueue& queue = flight->queue_;
  // Set before read(), because the answer reads it and may come from inside read().
  flight->begun_ns_ = monotonic_ns();
  if (queue.share_) flight->sent_ = queue.share_->on_sent();
  if (flight->request_.set_aside_bytes && !flight->request_.expected_size) {
    // Weak, because the flight owns its request. A hedged request may still run after the flight
    // has landed.
    flight->request_.set_aside = [weak = std::weak_ptr(flight)](uint64_t bytes) {
      const FlightPtr on_its_way = weak.lock();
      return on_its_way != nullptr && on_its_way->set_aside(bytes);
    };
  }
  queue.store_.read(flight->request_, stop_.get_token(), [flight, &counters = counters_](Result<Buffer> result) {
    // Called before landed(), which may destroy the loader and with it the queue.
    if (flight->queue_.share_) flight->queue_.share_->on_ended(flight->sent_, result.ok());
    counters.waiting_ns.fetch_add(monotonic_ns() - flight->begun_ns_, std::memory_order_relaxed);
    flight->landed(std::move(result));
  });
}

void Fetcher::end(const Flight& flight) {
  --flight.queue_.in_flight_;
  --in_flight_;
}

}  // namespace forebay
