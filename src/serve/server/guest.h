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
struct GuestLook {
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
/// run() occupies one thread, which the server provides. abort(), over() and look() may be called
/// from any thread.
class Guest {
 public:
  /// `process` is the client's process as reported by the kernel.
  Guest(FileDescriptor socket, pid_t process, Sharing& sharing);
  ~Guest();

  /// Serves the client until it disconnects or abort() is called.
  void run();
  bool over() const { return over_; }
  /// Ends run() and whatever it waits for.
  void abort();
  GuestLook look() const;
  int descriptor() const { return channel_.descriptor(); }
  pid_t process() const { return process_; }

 private:
  struct Held {
    Batch batch;
    std::vector<Buffer> copies;  ///< copies of tensors that were not in memory that clients can map
    uint64_t bytes = 0;
  };
  Status greet();
  Status answer(const Frame& frame);
  Result<std::string> answer_of(const Frame& frame);
  Result<std::string> open(const std::string& body);
  Status next(const std::string& body);
  Status give(Batch batch);
  Status send_slabs(std::vector<uint64_t>* gone);
  Result<TensorPlace> place_of(const Tensor& tensor, Held& held);
  Result<FieldMessage> place_of(const BatchField& field, Held& held);
  void let_go(const std::string& body);
  void close_feed();
  void move(OpenedFeed& now);
  Result<Loader*> position();
  Result<std::string> look_of_loader();
  Result<std::string> describe();
  std::shared_ptr<OpenedFeed> feed() const;

  Channel channel_;
  const pid_t process_;
  Sharing& sharing_;
  std::stop_source stop_;
  std::atomic<bool> over_ = false;

  std::map<uint64_t, std::weak_ptr<const Slab>> told_;  // slabs that were announced to the client
  std::vector<std::shared_ptr<const Slab>> new_slabs_;  // slabs to announce with the next batch
  uint64_t next_number_ = 1;
  std::optional<Batch> not_given_;  // a batch for which there was no memory that clients can map
  Position given_to_;               // position of the client after the last answer

  mutable Mutex mutex_;  // guards what follows against look() and abort()
  std::map<uint64_t, Held> held_ FOREBAY_GUARDED_BY(mutex_);
  std::shared_ptr<OpenedFeed> feed_ FOREBAY_GUARDED_BY(mutex_);
  GuestLook look_ FOREBAY_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point begun_ FOREBAY_GUARDED_BY(mutex_){};
};

}  // namespace forebay
