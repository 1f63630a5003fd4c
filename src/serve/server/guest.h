#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "serve/server/sharing.h"
#include "serve/wire/channel.h"

namespace forebay {

/// What there is to tell of a client.
struct GuestLook {
  pid_t process = 0;
  std::string program, pipeline, shares;
  int32_t rank = 0, world_size = 1, together = 0;
  int64_t batches = 0, samples = 0, epoch = 0;
  uint64_t bytes = 0, held_bytes = 0;
  int64_t held = 0;    ///< batches that the client has not let go of
  double seconds = 0;  ///< since its first batch
  double waited = 0;   ///< of these, for batches
  std::map<std::string, uint64_t>
      cache_hits;      ///< by place: entries that clients with a cache there did not have to make
  bool reads = false;  ///< it has a loader
};

/// A client of the server, for as long as its connection lasts: it answers what comes, one message after another, on a thread that the
/// server gives it. What the client holds goes with it.
class Guest {
 public:
  /// `process`: as the kernel says.
  Guest(FileDescriptor socket, pid_t process, Sharing& sharing);
  ~Guest();

  /// Until the client goes, or abort().
  void run();
  bool over() const { return over_; }
  /// From any thread: ends whatever it waits for.
  void abort();
  GuestLook look() const;
  int descriptor() const { return channel_.descriptor(); }
  pid_t process() const { return process_; }

 private:
  struct Held {
    Batch batch;
    std::vector<Buffer> copies;  ///< of what did not lie in memory that clients map
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

  std::map<uint64_t, std::weak_ptr<const Slab>> told_;  // slabs that the client has
  std::vector<std::shared_ptr<const Slab>> new_slabs_;  // and those that it is to be told of
  uint64_t next_number_ = 1;
  std::optional<Batch> not_given_;  // for which there was no memory that clients can map
  Position given_to_;               // where the client stands that has what was given

  mutable std::mutex mutex_;  // guards what follows against look() and abort()
  std::map<uint64_t, Held> held_;
  std::shared_ptr<OpenedFeed> feed_;
  GuestLook look_;
  std::chrono::steady_clock::time_point begun_{};
};

}  // namespace forebay
