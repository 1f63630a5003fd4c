#include "pipeline/run/element_reads.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "pipeline/run/run_trace.h"

namespace forebay {

/// One read of an element.
class ElementReads::ElementRead final : public PendingRead {
  const std::shared_ptr<void> alive_;  // keeps the run alive, so it is destroyed last
  ElementReads& reads_;
  const std::shared_ptr<void> held_;  // result of on_send()

 public:
  ElementRead(ElementReads& reads, std::shared_ptr<Element> of, uint64_t number, StoreSlots& slots, ReadRequest request,
              Claim bytes)
      : PendingRead(slots, std::move(request), std::move(bytes), reads.counters(*of)), alive_(reads.core_.alive()),
        reads_(reads), held_(reads.on_send(*of)), element(std::move(of)), trace_id(number),
        ticket(std::get<Element::Reading>(element->state).ticket),
        piece(std::get<Element::Reading>(element->state).sent) {}

  const std::shared_ptr<Element> element;
  const uint64_t trace_id, ticket;
  const size_t piece;

 private:
  void on_result(Result<Buffer> result) override { reads_.on_read_result(*this, std::move(result)); }
  // Otherwise the oldest batch would reclaim the memory, and the object would be read once more.
  bool may_take(uint64_t more) const override { return reads_.core_.memory.leaves_room(more); }
};

void ElementReads::begin_reading(Element& element, Claim claim) {
  element.bytes.claim = std::move(claim);
  element.state = Element::Reading{next_ticket()};
}

AdvanceResult ElementReads::send(const std::shared_ptr<Element>& element, uint64_t trace_id, Requests how,
                                 Actions& actions) {
  auto& reading = std::get<Element::Reading>(element->state);
  StoredBytes& bytes = element->bytes;
  for (; reading.sent < bytes.pieces.size(); ++reading.sent) {
    StoreSlots& slots = core_.fetcher.slots_of(bytes.store_of(bytes.pieces[reading.sent]));
    if (how == Requests::kAsSlotsAllow && !slots.has_slot()) return AdvanceResult::kLacksSlot;
    ReadRequest& request = bytes.pieces[reading.sent].request;
    // The claim belongs to the read from here on: an element that is revoked meanwhile must not
    // release memory that is being written to.
    Claim claim = bytes.claim.split(size_of(request));
    auto read = std::make_shared<ElementRead>(*this, element, trace_id, slots, std::move(request), std::move(claim));
    core_.fetcher.begin(*read);
    ++reading.in_flight;
    actions.reads.push_back(std::move(read));
  }
  return AdvanceResult::kMoved;
}

void ElementReads::on_read_result(ElementRead& read, Result<Buffer> result) {
  if (const auto trace = core_.plan.trace().get()) trace_read(*trace, read, read.trace_id, result.ok());
  AdvancingLock advancing(core_);
  core_.fetcher.end(read);
  Element& element = *read.element;
  auto* const reading = std::get_if<Element::Reading>(&element.state);
  // The element was revoked since, and perhaps begun again, so this answer is stale.
  if (reading == nullptr || reading->ticket != read.ticket) return read.take_claim().give_back();
  --reading->in_flight;
  if (!result.ok() && reading->failure.ok()) {
    reading->failure = result.status();
    reading->sent = element.bytes.pieces.size();  // send no further requests
  }
  if (!take(element, read, std::move(result))) return revoke(element);
  // Requests that found no slot are sent when the element moves on the next time.
  if (reading->in_flight > 0 || reading->sent < element.bytes.pieces.size()) return;
  Status failure = std::move(reading->failure);
  if (failure.code() == Code::kUnavailable && !is_due(element)) return revoke(element);
  if (!failure.ok()) return on_error(element, std::move(failure), advancing.actions);
  element.bytes.pieces_read = true;
  element.state = Element::Runnable{};
  on_arrival(element);
}

// The size of the object may have been a guess. Returns false if it needs more bytes than were
// claimed and can be had now: it is read again once the element has them.
bool ElementReads::take(Element& element, ElementRead& read, Result<Buffer> result) {
  Claim claim = read.take_claim();
  const uint64_t size = result.ok() ? result->size() : result.status().bytes_needed();
  if (size > claim.bytes()) {
    // The store could not get enough memory for the object, or the object turned out to be larger.
    const bool was_refused = result.status().code() == Code::kOutOfBudget;
    const bool lacks_memory = result.ok() && !claim.try_grow(size - claim.bytes());
    if (was_refused || lacks_memory) {
      std::vector<uint64_t>& observed = element.observed_bytes;
      observed.resize(std::max(observed.size(), read.piece + 1));
      // It never decreases, so that attempts come to an end.
      observed[read.piece] = std::max(observed[read.piece], size);
      return false;
    }
  }
  if (result.ok()) {
    counters(element).add(samples_, size, size, 0);
    claim.shrink_to(size);
    element.bytes.pieces[read.piece].bytes = std::move(*result);
  }
  element.bytes.claim.merge(std::move(claim));
  return true;
}

}  // namespace forebay
