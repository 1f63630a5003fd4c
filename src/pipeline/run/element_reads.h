#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "pipeline/element.h"
#include "pipeline/run/run_core.h"

namespace forebay {

/// Reads the stored bytes of elements from stores: sends the requests of an element as slots allow,
/// takes the answers, and ignores those of elements that were revoked meanwhile. The owners of
/// chunks and of tasks derive from it. Their run's lock guards it.
class ElementReads {
 protected:
  /// `samples`: the number that each read counts as in the statistics.
  ElementReads(RunCore& core, int64_t samples) : core_(core), samples_(samples) {}
  ~ElementReads() = default;

  /// Makes an element Reading whose requests are known. `claim` is the memory for all their bytes.
  void begin_reading(Element& element, Claim claim);
  enum class Requests : uint8_t {
    kAsSlotsAllow,  ///< a later call sends the rest
    kTogether,      ///< all of them: the few of a sample, which continues only with all its bytes
  };
  /// Sends the requests of an element that is Reading and that have not been sent. `trace_id`
  /// identifies the element in the trace (run_trace.h).
  AdvanceResult send(const std::shared_ptr<Element>& element, uint64_t trace_id, Requests how, Actions& actions);
  uint64_t next_ticket() { return ++tickets_; }

  RunCore& core_;

 private:
  class ElementRead;

  /// Counters of the step that reads the element.
  virtual StepCounters& counters(Element& element) = 0;
  /// Called for each read before it is sent. The result is destroyed when the read has ended,
  /// without a lock.
  virtual std::shared_ptr<void> on_send(Element& element) = 0;
  /// Whether a transient error of the element's store is reported. Otherwise it is read again.
  virtual bool is_due(Element& element) const = 0;
  virtual void revoke(Element& element) = 0;
  /// All bytes of the element have arrived, and it is Runnable.
  virtual void on_arrival(Element& element) = 0;
  virtual void on_error(Element& element, Status status, Actions& actions) = 0;

  void on_read_result(ElementRead& read, Result<Buffer> result);
  bool take(Element& element, ElementRead& read, Result<Buffer> result);

  const int64_t samples_;
  uint64_t tickets_ = 0;
};

}  // namespace forebay
