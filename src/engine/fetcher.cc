#include "engine/fetcher.h"

#include <utility>

namespace forebay {

namespace {

std::unique_ptr<RequestSlots::Share> share_of(Store& store, const FetcherOptions& options) {
  const std::shared_ptr<RequestSlots> slots = options.find_requests ? store.slots() : nullptr;
  return slots ? std::make_unique<RequestSlots::Share>(slots, options.ranks) : nullptr;
}

}  // namespace

StoreSlots::StoreSlots(Store& store, const FetcherOptions& options)
    : store_(store), can_read_now_(store.reads_now()), requests_(options.requests), share_(share_of(store, options)),
      reading_(store.begin_reading()), limit_(current_limit()) {}

// A linear search: there are few stores. The data set has one (a manifest may name several), and a
// cache's disk is another.
StoreSlots& Fetcher::slots_of(Store& store) {
  for (const auto& slots : slots_) {
    if (&slots->store_ == &store) return *slots;
  }
  return *slots_.emplace_back(std::make_unique<StoreSlots>(store, options_));
}

void Fetcher::refresh() {
  for (const auto& slots : slots_) slots->refresh();
}

void Fetcher::leave() {
  for (const auto& slots : slots_) slots->reading_.reset();
}

void Fetcher::begin(const PendingRead& read) {
  ++read.slots_.in_flight_;
  ++in_flight_;
}

bool PendingRead::set_aside(uint64_t bytes) {
  const Lock lock(mutex_);
  if (has_ended_ || bytes <= claim_.bytes()) return !has_ended_;
  const uint64_t more = bytes - claim_.bytes();
  return may_take(more) && claim_.try_grow(more);
}

Claim PendingRead::take_claim() {
  const Lock lock(mutex_);
  has_ended_ = true;
  return std::move(claim_);
}

void Fetcher::send(const PendingReadPtr& read) {
  StoreSlots& slots = read->slots_;
  // Set before read(), because the answer reads it and may come from inside read().
  read->begun_ns_ = monotonic_ns();
  if (slots.share_) read->sent_ = slots.share_->on_sent();
  if (read->request_.set_aside_bytes && !read->request_.expected_size) {
    // Weak, because the read owns its request. A hedged request may still run after the read has
    // ended.
    read->request_.set_aside = [weak = std::weak_ptr(read)](uint64_t bytes) {
      const PendingReadPtr pending = weak.lock();
      return pending != nullptr && pending->set_aside(bytes);
    };
  }
  slots.store_.read(read->request_, stop_.get_token(), [read](Result<Buffer> result) {
    // Called before on_result(), which may destroy the loader and with it the slots.
    if (read->slots_.share_) read->slots_.share_->on_ended(read->sent_, result.ok());
    read->counters_.waiting_ns.fetch_add(monotonic_ns() - read->begun_ns_, std::memory_order_relaxed);
    read->on_result(std::move(result));
  });
}

void Fetcher::end(const PendingRead& read) {
  --read.slots_.in_flight_;
  --in_flight_;
}

}  // namespace forebay
