#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/cond_var.h"
#include "base/mutex.h"
#include "cluster/entry_service.h"
#include "cluster/patience.h"
#include "cluster/peer_health.h"
#include "cluster/peer_read_queue.h"
#include "cluster/peer_store.h"
#include "cluster/transport.h"
#include "store/calls.h"
#include "store/timer.h"

namespace forebay {

/// Requests entries from one peer: sends reads in calls, repeats those whose entry the peer has
/// announced, and answers each read exactly once. Answers of the transport hold it, so it outlives
/// the store if an answer is late. It does not own the transport, which must not be destroyed
/// inside one of its own answers. Methods may be called from any thread.
class PeerClient : public std::enable_shared_from_this<PeerClient> {
 public:
  PeerClient(Transport& transport, PeerHost host, PeerStoreOptions options);

  bool may_ask() const;
  void read(PeerRead read);
  /// Backs the peer off and answers all waiting reads with an empty buffer.
  void report_failure(const std::string& why, PeerHealth::Contact contact);
  /// Answers all reads. After it returns, the transport is not used any more, except by answers
  /// that this thread is inside of.
  void close();

  CallTable calls;

 private:
  using Items = Result<std::vector<ResponseItem>>;
  /// A read of an entry that the peer has announced, until it is requested again.
  struct Announced {
    Timer::Time due;
    PeerRead read;
  };
  /// Marks an answer of the transport that this thread is inside of, while it exists. Answers nest:
  /// an answer may call code that reads from another peer, whose answer comes at once. close() uses
  /// the marks, since it would wait forever for an answer that called it.
  class AnswerFrame {
   public:
    explicit AnswerFrame(const PeerClient& client) : client_(client), outer_(innermost_) { innermost_ = this; }
    ~AnswerFrame() { innermost_ = outer_; }
    AnswerFrame(const AnswerFrame&) = delete;
    AnswerFrame& operator=(const AnswerFrame&) = delete;
    /// How many answers of that client this thread is inside of.
    static size_t count(const PeerClient& client);

   private:
    static thread_local const AnswerFrame* innermost_;
    const PeerClient& client_;
    const AnswerFrame* const outer_;
  };

  void send_waiting();
  void send(PeerCall call);
  CallLimits limits(const std::vector<EntryRequest>& requests) const;
  void end_gathering();

  void on_response(PeerCall call, Items items);
  void update_health(const Items& items);
  static void answer(const PeerRead& read, ResponseItem item);
  void answer_empty(const PeerRead& read);

  void retry_later(PeerRead read, uint64_t work_left);
  /// After close() every read already has its answer.
  void wake_at(Timer::Time time) FOREBAY_REQUIRES(mutex_);
  void retry_due();

  const PeerHost host_;
  const PeerStoreOptions options_;
  PeerHealth health_;  // may be used by any thread, as may patience_, transport_, stop_ and timer_
  Patience patience_;
  Transport& transport_;
  std::stop_source stop_;
  Mutex mutex_;
  PeerReadQueue queue_ FOREBAY_GUARDED_BY(mutex_);
  std::vector<Announced> announced_ FOREBAY_GUARDED_BY(mutex_);
  /// Earliest time of retry_due().
  Timer::Time wakes_at_ FOREBAY_GUARDED_BY(mutex_) = Timer::Time::max();
  CondVar call_ended_;
  size_t open_calls_ FOREBAY_GUARDED_BY(mutex_) = 0;  ///< calls in flight, and answers being given
  Timer timer_{/*manual=*/false};                     // last: its thread uses the other members
};

}  // namespace forebay
