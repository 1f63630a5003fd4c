#include "pipeline/run/element_reads.h"

#include <utility>

#include "pipeline/run/run_trace.h"

namespace forebay {

/// One read of an element.
class ElementReads::InFlight final : public Flight {
  const std::shared_ptr<void> alive_;  // keeps the run alive, so it is destroyed last
  ElementReads& reads_;
  const std::shared_ptr<void> held_;  // result of on_send()

 public:
  InFlight(ElementReads& reads, std::shared_ptr<Element> of, uint64_t number, StoreQueue& queue, ReadRequest request,
           Claim bytes)
      : Flight(queue, std::move(request), std::move(bytes)), alive_(reads.core_.alive()), reads_(reads),
        held_(reads.on_send(*of)), element(std::move(of)), about(number),
        ticket(std::get<Element::Reading>(element->state).ticket),
        piece(std::get<Element::Reading>(element->state).sent) {}

  const std::shared_ptr<Element> element;
  const uint64_t about, ticket;
  const size_t piece;

 private:
  void landed(Result<Buffer> result) override { reads_.on_landed(*this, std::move(result)); }
  // Otherwise the oldest batch would reclaim the memory, and the object would be read once more.
  bool may_take(uint64_t more) const override { return reads_.core_.memory.leaves_room(more); }
};

void ElementReads::begin_reading(Element& element, Claim claim) {
  element.bytes.claim = std::move(claim);
  element.state = Element::Reading{next_ticket()};
}

Step ElementReads::send(const std::shared_ptr<Element>& element, uint64_t about, Actions& actions) {
  auto& reading = std::get<Element::Reading>(element->state);
  StoredBytes& bytes = element->bytes;
  StoreQueue& queue = core_.fetcher.queue(*bytes.store);
  for (; reading.sent < bytes.pieces.size(); ++reading.sent) {
    if (!queue.has_slot()) return Step::kNoSlot;
    ReadRequest& request = bytes.pieces[reading.sent].request;
    // The claim belongs to the read from here on: an element that is revoked meanwhile must not
    // release memory that is being written to.
    Claim claim = bytes.claim.split(size_of(request));
    auto flight = std::make_shared<InFlight>(*this, element, about, queue, std::move(request), std::move(claim));
    core_.fetcher.begin(*flight);
    ++reading.in_flight;
    actions.flights.push_back(std::move(flight));
  }
  return Step::kMoved;
}

void ElementReads::on_landed(InFlight& flight, Result<Buffer> result) {
  if (const auto trace = core_.plan->trace->get()) trace_read(*trace, flight, flight.about, result.ok());
  AdvancingLock advancing(core_);
  core_.fetcher.end(flight);
  Element& element = *flight.element;
  auto* const reading = std::get_if<Element::Reading>(&element.state);
  // The element was revoked since, and perhaps begun again, so this answer is stale.
  if (reading == nullptr || reading->ticket != flight.ticket) return flight.take_claim().give_back();
  --reading->in_flight;
  if (!result.ok() && reading->failure.ok()) {
    reading->failure = result.status();
    reading->sent = element.bytes.pieces.size();  // send no further requests
  }
  if (!take(element, flight, std::move(result))) return revoke(element);
  // Requests that found no slot are sent when the element moves on the next time.
  if (reading->in_flight > 0 || reading->sent < element.bytes.pieces.size()) return;
  Status failure = std::move(reading->failure);
  if (failure.code() == Code::kUnavailable && !is_due(element)) return revoke(element);
  if (!failure.ok()) return on_error(element, std::move(failure), advancing.actions);
  element.bytes.in_memory = true;
  element.state = Element::Read{};
  on_arrival(element);
}

// The size of the object may have been a guess. Returns false if it needs more bytes than were
// claimed and can be had now: it is read again once the element has them.
bool ElementReads::take(Element& element, InFlight& flight, Result<Buffer> result) const {
  Claim claim = flight.take_claim();
  const uint64_t size = result.ok() ? result->size() : result.status().bytes_needed();
  const bool lacks = size > claim.bytes() && (result.ok() || result.status().code() == Code::kOutOfBudget);
  if (lacks && (!result.ok() || !claim.try_grow(size - claim.bytes()))) {
    element.observed_bytes = size;
    return false;
  }
  if (result.ok()) {
    core_.plan->fetch_counters->add(samples_, size, size, 0);
    claim.shrink_to(size);
    element.bytes.pieces[flight.piece].bytes = std::move(*result);
  }
  element.bytes.claim.merge(std::move(claim));
  return true;
}

}  // namespace forebay
