#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "serve/server/sharing.h"
#include "serve/wire/channel.h"

namespace forebay {

/// Status of a client, for `forebay serve status`.
struct ClientStatus {
  pid_t process = 0;
  std::string program, pipeline, shares;
  int32_t rank = 0, world_size = 1, together = 0;
  int64_t batches = 0, samples = 0, epoch = 0;
  uint64_t bytes = 0, held_bytes = 0;
  int64_t held = 0;    ///< batches that the client has not freed
  double seconds = 0;  ///< time since it asked for its first batch
  double waited = 0;   ///< part of that time in which the server had no batch for it
  /// Cache hits by place of the cache.
  std::map<std::string, uint64_t> cache_hits;
  bool reads = false;  ///< whether it has a loader
};

/// The server's end of one connection. It answers the client's messages one after another. It owns
/// the batches that the client has not freed, and returns their memory when the connection ends.
///
/// run() occupies one thread, which the server provides. abort(), over() and status() may be called
/// from any thread.
class ClientSession {
 public:
  /// `process` is the client's process as reported by the kernel. `clock` measures how long the
  /// client may take to introduce itself, and outlives the session.
  ClientSession(FileDescriptor socket, pid_t process, Sharing& sharing, WaitClock& clock = WaitClock::real());
  ~ClientSession();

  /// Serves the client until it disconnects or abort() is called.
  void run();
  bool over() const { return over_; }
  /// Ends run(), and the wait that it is in.
  void abort();
  ClientStatus status() const;
  int descriptor() const { return channel_.descriptor(); }
  pid_t process() const { return process_; }

 private:
  struct HeldBatch {
    Batch batch;
    std::vector<Buffer> copies;  ///< copies of tensors that were not in memory that clients can map
    uint64_t bytes = 0;
  };
  Status greet();
  Status check_hello(const Frame& frame);
  void serve();
  Status answer_all();
  Status answer(const Frame& frame);
  Result<std::string> answer_of(const Frame& frame);
  Result<std::string> answer_of_loader(const Frame& frame, Feed& feed);
  Result<std::string> open(const std::string& body);
  Status set_epoch(const std::string& body, Feed& feed);
  Status load_state(const std::string& body, Feed& feed);
  Status set_weights(const std::string& body, Feed& feed);
  Status begin_trace(const std::string& body, Feed& feed);
  Status end_trace(Feed& feed);
  Status next(const std::string& body);
  Result<std::optional<Batch>> next_batch(Feed& feed, std::chrono::milliseconds timeout, bool* timed_out);
  Status deliver(Batch batch);
  Result<BatchMessage> describe(const Batch& batch, HeldBatch& held);
  void hold(uint64_t number, HeldBatch held, int64_t epoch);
  Status send_slabs(std::vector<uint64_t>* dropped);
  Result<TensorLocation> locate(const Tensor& tensor, HeldBatch& held);
  Result<FieldMessage> locate(const BatchField& field, HeldBatch& held);
  void free_batches(const std::string& body);
  void close_feed();
  void position_changed(Feed& feed);
  LoaderInfo info(const Loader& loader) const;
  std::shared_ptr<OpenedFeed> opened_feed() const;

  Channel channel_;
  const pid_t process_;
  Sharing& sharing_;
  std::stop_source stop_;
  std::atomic<bool> over_ = false;

  std::map<uint64_t, std::weak_ptr<const Slab>> announced_;  // slabs that the client knows
  std::vector<std::shared_ptr<const Slab>> new_slabs_;       // slabs to announce with the next batch
  uint64_t next_number_ = 1;
  std::optional<Batch> undelivered_;  // a batch for which there was no memory that clients can map
  Position client_position_;          // position of the client after the last answer

  mutable Mutex mutex_;  // guards the members below, which status() and abort() also use
  std::map<uint64_t, HeldBatch> held_ FOREBAY_GUARDED_BY(mutex_);
  std::shared_ptr<OpenedFeed> opened_feed_ FOREBAY_GUARDED_BY(mutex_);
  ClientStatus counters_ FOREBAY_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point begun_ FOREBAY_GUARDED_BY(mutex_){};
};

}  // namespace forebay
