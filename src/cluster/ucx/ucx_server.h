#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/active_messages.h"
#include "cluster/key_source.h"
#include "cluster/transport.h"
#include "forebay/result.h"

namespace forebay {

/// Answers questions (message.h) that come as active messages, on threads that may wait for a disk. They come from whoever has its card, and that is given to
/// whoever shows the pass of the job.
class UcxServer {
 public:
  struct Options {
    int threads = 2;  ///< as many disks may be waited for at once
    size_t most_connections = 512;
    size_t most_waiting = 4096;                 ///< questions that have come; what is beyond is not answered
    std::chrono::milliseconds patience{5'000};  ///< for each MiB of an answer to be taken
  };
  /// What an answer's code says.
  enum Code : uint64_t { kAnswer, kMalformed };

  UcxServer(std::shared_ptr<KeySource> keys, Options options) : options_(options), keys_(std::move(keys)) {}
  ~UcxServer();
  /// `devices`: of the network (network_device.h).
  Status open(const ActiveMessageModule& module, const std::string& devices);

  const std::string& card() const { return end_->card(); }
  /// Strangers, malformed questions and those beyond the limits count as refused; the first of each kind is logged as one of `address`.
  Listening::Stats stats() const;
  void set_address(const std::string& address);

 private:
  enum Kind { kStranger, kTooManyAskers, kTooMany, kNonsense, kKinds };
  void queue(std::unique_ptr<ActiveMessages::Question> question);
  void serve();
  void answer(ActiveMessages::Question& question);
  void refuse(Kind kind);

  const Options options_;
  const std::shared_ptr<KeySource> keys_;
  std::atomic<uint64_t> questions_{0}, asked_{0}, found_{0}, bytes_{0}, refused_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<ActiveMessages::Question>> waiting_;
  std::string address_;
  bool told_[kKinds] = {};
  bool closing_ = false;
  std::vector<std::thread> threads_;
  std::unique_ptr<ActiveMessages> end_;
};

}  // namespace forebay
