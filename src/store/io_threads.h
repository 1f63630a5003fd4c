#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace forebay {

/// A few threads for system calls that may wait for a device. They start when there is work for them, at most
/// `max_threads`, and never decode.
///
/// close() drops what has not begun and waits for the rest; a thread that its system call does not let go within
/// `patience` (a dead network mount) is left behind, and touches only what its job owns. So jobs must own what they
/// use. May be used from any thread, except that nobody may post while close() runs.
class IoThreads {
 public:
  explicit IoThreads(size_t max_threads, std::chrono::milliseconds patience = std::chrono::seconds(5));
  ~IoThreads() { close(); }
  IoThreads(const IoThreads&) = delete;
  IoThreads& operator=(const IoThreads&) = delete;

  /// False where no thread could be started and none is running (the job is dropped), or after a fork: threads stay
  /// with the parent.
  bool post(std::function<void()> job);
  void close();
  size_t threads() const;
  /// The process is a fork of the one that made this: there are no threads here, and locks may be held for ever.
  bool foreign_process() const;

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable work, ended;
    std::deque<std::function<void()>> jobs;
    std::vector<std::thread> handles;
    size_t threads = 0, idle = 0;
    bool closing = false;
  };
  static void run(const std::shared_ptr<State>& state);
  bool start_thread();

  const size_t max_threads_;
  const std::chrono::milliseconds patience_;
  const uint64_t generation_;
  std::shared_ptr<State> state_;
};

}  // namespace forebay
