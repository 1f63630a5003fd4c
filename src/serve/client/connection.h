#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/shared_loader.h"
#include "runtime/fork_guard.h"
#include "serve/memory/mapped_slabs.h"
#include "serve/wire/channel.h"

namespace forebay {

/// A client's end: questions and their answers, one at a time, and batches, which keep it until the last of their tensors goes. From any
/// thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// Says hello. Unavailable where the server goes meanwhile, or does not answer within half a minute. `turned_away`, where given: whether
  /// the server itself said why not, and so would say it again.
  static Result<std::shared_ptr<Connection>> open(FileDescriptor socket, bool* turned_away = nullptr);
  explicit Connection(FileDescriptor socket);

  /// The answer's body, or the error that it is. Unavailable: the server has gone, and lost() is true from then on.
  Result<std::string> ask(MessageType type, std::string_view body);

  struct Next {
    std::optional<Batch> batch;
    bool timed_out = false;
    Position behind;  ///< what came
  };
  /// An answer that does not come within the timeout is that of the next call. Behind a batch the next one is asked for at once, so that
  /// it is here when it is wanted: the server stands a batch ahead.
  Result<Next> next(std::chrono::milliseconds timeout);
  /// What was asked for ahead is not wanted any more.
  Status forget_next();

  bool lost() const { return lost_; }
  /// Whoever waits comes back, and nothing more is asked. Batches stay, and keep the connection.
  void close();

 private:
  Result<Frame> answer(std::chrono::milliseconds timeout, bool* timed_out);
  Status take_slabs(const Frame& frame);
  Status ask_next(std::chrono::milliseconds timeout);
  Result<Next> understand(const Frame& frame);
  Result<Batch> batch_of(BatchMessage message);
  void let_go(uint64_t number);
  void tell_what_goes();
  Status lose(Status why);
  Status give_up();
  Status last_words(Status why);

  Channel channel_;
  MappedSlabs slabs_;
  const uint64_t generation_ = process_generation();
  std::atomic<bool> lost_ = false, interrupted_ = false;
  std::timed_mutex turn_;
  bool next_asked_ = false;
  std::optional<Frame> next_answer_;  // came while another question was asked
  bool told_ = false;                 // the latest error of ask() was the server's own answer

  std::mutex freed_mutex_;
  std::vector<uint64_t> freed_;
};

}  // namespace forebay
