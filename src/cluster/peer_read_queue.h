#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "cluster/entry_service.h"
#include "cluster/patience.h"
#include "cluster/peer_pace.h"
#include "cluster/peer_store.h"
#include "forebay/buffer.h"
#include "store/calls.h"

namespace forebay {

/// A read of an entry of a peer that has no answer yet.
struct PeerRead {
  EntryRequest request;
  bool reports_size = false;  ///< an entry that is too large is OutOfBudget
  std::shared_ptr<Call<Buffer>> call;
  int attempts = 0;
  Patience::Wait wait = {};
};

/// Reads that are sent in one call.
struct PeerCall {
  std::vector<PeerRead> reads;
  uint64_t bytes = 0;            ///< counted against the peer's allowance
  bool fills_allowance = false;  ///< with this call, at least half of the allowance is in flight
  PeerPace::Time sent_at{0};
};

/// The reads that wait for a call, and the decision when to send how many of them together. A call
/// costs more than a small entry. While a call is in flight, reads are therefore gathered and sent
/// together when its answer arrives, unless they are large or have waited long.
///
/// The class is not thread-safe: its owner's lock guards it.
class PeerReadQueue {
 public:
  using Time = PeerPace::Time;
  explicit PeerReadQueue(const PeerStoreOptions& options);

  void push(PeerRead read) { waiting_.push_back(std::move(read)); }
  /// Removes and returns all reads.
  std::deque<PeerRead> take_all() { return std::exchange(waiting_, {}); }

  enum class Next {
    kWait,    ///< nothing to send before the answer to a call in flight
    kGather,  ///< wait for more reads, but not for long
    kSend,    ///< call take_call()
  };
  /// Decides what to do now. Drops reads that were answered while they waited.
  Next next(Patience& patience);
  /// Removes the reads of the next call and counts them as in flight.
  PeerCall take_call(Time now);
  /// The call has an answer of `bytes` bytes, or has failed.
  void answered(const PeerCall& call, Time now, uint64_t bytes);
  void failed(Time now) { pace_.failed(now); }
  /// All reads of the call are answered.
  void finished(const PeerCall& call);

  /// Begins to limit the time of gathering. Returns whether the caller has to schedule
  /// end_gathering(): there is one timer at a time, not one for each call.
  bool begin_gathering();
  /// Sends reads without further gathering, unless others were sent since begin_gathering().
  void end_gathering();

 private:
  bool gathers() const;
  uint64_t bytes_waiting() const;
  uint64_t bytes_a_call() const;
  uint64_t counted_bytes(const PeerRead& read) const;

  const size_t max_calls_, max_keys_;
  const uint64_t max_bytes_;
  PeerPace pace_;
  std::deque<PeerRead> waiting_;
  size_t calls_in_flight_ = 0;
  uint64_t bytes_in_flight_ = 0;
  /// Number of reads that left waiting_: now, and when gathering_ends_soon_ was set.
  uint64_t sent_reads_ = 0, sent_reads_before_ = 0;
  bool gathering_ends_soon_ = false;  ///< end_gathering() is scheduled
  bool gathered_long_enough_ = false;
};

}  // namespace forebay
