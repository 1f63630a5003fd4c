#pragma once

#include <curl/curl.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "store/calls.h"
#include "store/http/curl_transfer.h"
#include "store/http/curl_transport.h"
#include "store/read_buffers.h"

namespace forebay {

/// Runs all transfers of a transport on one thread, with an epoll set, a queue and reusable
/// handles. send(), close() and idle_memory() may be called from any thread. Everything else runs
/// on the loop's own thread, which keeps the loop alive until it has ended.
class CurlLoop : public std::enable_shared_from_this<CurlLoop> {
 public:
  explicit CurlLoop(const CurlTransportOptions& options);
  ~CurlLoop();

  void send(HttpRequest request, std::stop_token stop, HttpTransport::Done done);
  std::shared_ptr<ReclaimableMemory> idle_memory() const { return buffers_; }
  /// Answers all calls and then ends the thread. If the loop's own thread calls it, that thread
  /// ends after the current answer.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  /// Interval of checks of deadlines.
  static constexpr auto kCheckEvery = std::chrono::milliseconds(100);
  struct Waiting {
    HttpRequest request;
    std::shared_ptr<Call<HttpResponse>> call;
  };
  /// Only one transfer for each origin looks its name up, because libcurl would start a thread for
  /// each transfer.
  struct Lookup {
    CurlTransfer* by = nullptr;
    std::vector<std::unique_ptr<CurlTransfer>> others;
  };
  using Transfer = std::unique_ptr<CurlTransfer>;

  friend class CurlTransfer;
  ReadBuffers& buffers() { return *buffers_; }
  // Called by the callbacks of a transfer.

  /// Lets the transfer look its host up, unless another transfer is doing so.
  bool try_begin_lookup(CurlTransfer* transfer);
  void end_own_lookup(CurlTransfer* transfer);
  /// Lets the transfer open a connection, unless it should wait for one that is being opened.
  bool try_open(CurlTransfer* transfer);
  void connected(CurlTransfer* transfer);
  void answered(CurlTransfer* transfer, int major_version);

  Status start_thread() FOREBAY_REQUIRES(mutex_);
  Status open_multi();
  void wake();
  void run();
  /// Returns false if the loop is to end.
  bool take_inbox();
  void start_waiting();
  void start(Transfer transfer);
  void wait_and_serve();
  int wait_ms();
  void serve_timer();
  void collect_finished();
  Transfer remove(CurlTransfer* transfer);
  void finish(Transfer transfer, CURLcode code);
  void wait_for_lookup(Transfer transfer);
  void wait_for_descriptor(Transfer transfer);
  void wait_for_connection(Transfer transfer);
  ConnectionOpenings::Load load_of(const ConnectionOpenings::Server& server) const;
  void resume(std::vector<Transfer> waited);
  void end_lookup(const CurlTransfer& transfer, const Status& failure);
  void end_opening(const CurlTransfer& transfer);
  void check_deadlines();
  void drop_answered();
  size_t room_for_connections() const;
  void clean_up();

  void watch(int fd, uint32_t events);
  void forget(int fd);
  static int on_close_socket(void* loop, curl_socket_t socket);
  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* loop, void* known);
  static int on_timer(CURLM* multi, long timeout_ms, void* loop);

  const CurlTransportOptions options_;
  CallTable calls_;  // first: it must outlive everything that holds calls
  const std::shared_ptr<ReadBuffers> buffers_;

  Mutex mutex_;
  std::vector<Waiting> inbox_ FOREBAY_GUARDED_BY(mutex_);
  bool closing_ FOREBAY_GUARDED_BY(mutex_) = false;
  std::thread thread_;
  std::atomic<bool> some_stopped_{false};
  int wake_fd_ = -1;
  int epoll_fd_ = -1;

  // Members from here on belong to the loop's thread.
  CURLM* multi_ = nullptr;
  CURLSH* share_ = nullptr;
  size_t max_active_ = 0;
  std::optional<Clock::time_point> timer_;
  std::optional<Clock::time_point> retry_at_;
  Clock::time_point next_check_{};
  std::vector<Waiting> arrived_;  ///< empty between turns; reused for its memory
  std::deque<Transfer> queue_;
  std::unordered_map<CurlTransfer*, Transfer> active_;
  std::unordered_map<std::string, Lookup> lookups_;
  ConnectionOpenings openings_;
  std::vector<CurlHandle> idle_handles_;
  std::vector<bool> watched_;  ///< indexed by descriptor
};

}  // namespace forebay
