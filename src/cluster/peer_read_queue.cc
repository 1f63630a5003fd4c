#include "cluster/peer_read_queue.h"

#include <algorithm>
#include <utility>

namespace forebay {

namespace {

constexpr size_t kManyKeys = 16;  // so many are worth a call of their own

}  // namespace

PeerReadQueue::PeerReadQueue(const PeerStoreOptions& options)
    : max_calls_(options.requests), max_keys_(options.keys), max_bytes_(options.bytes),
      pace_(options.bytes / 16, options.bytes / 4, options.bytes * options.requests) {}

PeerReadQueue::Next PeerReadQueue::next(Patience& patience) {
  // The answer to any call in flight asks again, so no read is forgotten.
  if (calls_in_flight_ >= max_calls_) return Next::kWait;
  while (!waiting_.empty() && waiting_.front().call->answered()) {
    patience.abandoned(waiting_.front().wait);
    waiting_.pop_front();
  }
  if (waiting_.empty()) return Next::kWait;
  if (gathers()) return Next::kGather;
  const bool beyond_allowance = bytes_in_flight_ + counted_bytes(waiting_.front()) > pace_.allowed();
  return calls_in_flight_ > 0 && beyond_allowance ? Next::kWait : Next::kSend;
}

PeerCall PeerReadQueue::take_call(Time now) {
  PeerCall call;
  const uint64_t most = bytes_a_call();
  while (!waiting_.empty() && call.reads.size() < max_keys_) {
    const uint64_t bytes = call.bytes + counted_bytes(waiting_.front());
    // The first read always goes, or a single large entry would never be read.
    if (!call.reads.empty() && bytes > most) break;
    call.bytes = bytes;
    call.reads.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  sent_reads_ += call.reads.size();
  gathered_long_enough_ = false;
  ++calls_in_flight_;
  bytes_in_flight_ += call.bytes;
  call.fills_allowance = bytes_in_flight_ > pace_.allowed() / 2;
  call.sent_at = now;
  return call;
}

void PeerReadQueue::answered(const PeerCall& call, Time now, uint64_t bytes) {
  pace_.answered(call.sent_at, now, bytes, call.fills_allowance);
}

void PeerReadQueue::finished(const PeerCall& call) {
  --calls_in_flight_;
  bytes_in_flight_ -= call.bytes;
}

bool PeerReadQueue::begin_gathering() {
  if (std::exchange(gathering_ends_soon_, true)) return false;
  sent_reads_before_ = sent_reads_;
  return true;
}

void PeerReadQueue::end_gathering() {
  gathering_ends_soon_ = false;
  gathered_long_enough_ = sent_reads_ == sent_reads_before_;
}

bool PeerReadQueue::gathers() const {
  return calls_in_flight_ > 0 && !gathered_long_enough_ && waiting_.size() < kManyKeys &&
         bytes_waiting() < bytes_a_call();
}

uint64_t PeerReadQueue::bytes_waiting() const {
  uint64_t bytes = 0;
  for (const PeerRead& read : waiting_) bytes += counted_bytes(read);
  return bytes;
}

// The allowance is divided among several calls, so that one is always in flight.
uint64_t PeerReadQueue::bytes_a_call() const { return std::min(max_bytes_, pace_.allowed() / max_calls_); }

// Entries of unknown size may be large but rarely are.
uint64_t PeerReadQueue::counted_bytes(const PeerRead& read) const {
  return std::min(read.request.most_bytes, max_bytes_);
}

}  // namespace forebay
