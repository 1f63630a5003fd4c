#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/timed_mutex.h"
#include "forebay/shared_loader.h"
#include "runtime/fork_guard.h"
#include "serve/memory/mapped_slabs.h"
#include "serve/wire/channel.h"

namespace forebay {

/// The client's end of a connection. It sends one request at a time and waits for the answer.
/// Batches share ownership of it, so that the connection lives until their last tensor is freed.
/// Any thread may call any function.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Opening {
    Result<std::shared_ptr<Connection>> connection;
    bool refused = false;  ///< the server itself refused the client, so another attempt would fail, too
  };
  /// Exchanges the first messages with the server. Unavailable if the server exits meanwhile or
  /// does not answer within half a minute.
  static Opening open(FileDescriptor socket, WaitClock& clock = WaitClock::real());
  /// `clock` measures all waits and outlives the connection.
  Connection(FileDescriptor socket, WaitClock& clock);

  /// Sends a request and returns the body of the answer, or the error in the answer. Returns
  /// Unavailable if the server has exited; lost() is true from then on.
  Result<std::string> ask(MessageType type, std::string_view body);

  struct Next {
    std::optional<Batch> batch;
    bool timed_out = false;
    Position after;  ///< position after this answer
  };
  /// Returns the next batch or the end of an epoch. An answer that arrives after the timeout is
  /// returned by the next call. After a batch the next one is requested at once, so that it is here
  /// when it is needed. The server is therefore one batch ahead of the client.
  Result<Next> next(std::chrono::milliseconds timeout);
  /// Discards the batch that was requested ahead.
  Status discard_next();

  bool lost() const { return lost_; }
  int descriptor() const { return channel_.descriptor(); }
  /// Ends the waits of other threads with Cancelled and closes the loader in the server. Batches
  /// stay valid and keep the connection alive.
  void close();

 private:
  Result<std::optional<Frame>> receive_answer(std::chrono::milliseconds timeout) FOREBAY_REQUIRES(request_mutex_);
  Result<std::string> answer_to_ask(std::chrono::milliseconds timeout) FOREBAY_REQUIRES(request_mutex_);
  Result<bool> await_next(std::chrono::milliseconds timeout) FOREBAY_REQUIRES(request_mutex_);
  Result<Next> take_next() FOREBAY_REQUIRES(request_mutex_);
  Status map_slabs(const Frame& frame) FOREBAY_REQUIRES(request_mutex_);
  Status request_next(std::chrono::milliseconds timeout) FOREBAY_REQUIRES(request_mutex_);
  Result<Next> decode_next(const Frame& frame) FOREBAY_REQUIRES(request_mutex_);
  Result<Batch> batch_of(BatchMessage message) FOREBAY_REQUIRES(request_mutex_);
  Result<BatchField> field_of(FieldMessage message, const std::shared_ptr<void>& held) FOREBAY_REQUIRES(request_mutex_);
  void free_batch(uint64_t number);
  void send_freed();
  Status mark_lost(Status why);
  Status give_up();
  Status reason_of_refusal(Status otherwise) FOREBAY_REQUIRES(request_mutex_);

  WaitClock& clock_;
  Channel channel_;
  MappedSlabs slabs_;
  const uint64_t generation_ = process_generation();
  std::atomic<bool> lost_ = false, interrupted_ = false;
  TimedMutex request_mutex_;  // held by the thread whose request is being answered
  bool next_requested_ FOREBAY_GUARDED_BY(request_mutex_) = false;
  // The answer to the request for the next batch, if it arrived during another request.
  std::optional<Frame> next_answer_ FOREBAY_GUARDED_BY(request_mutex_);
  // Whether the last error of ask() was an answer of the server.
  bool answered_ FOREBAY_GUARDED_BY(request_mutex_) = false;

  Mutex freed_mutex_;
  std::vector<uint64_t> freed_ FOREBAY_GUARDED_BY(freed_mutex_);
};

}  // namespace forebay
