#include "store/http/curl_loop.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/folder_entries.h"
#include "store/signals_blocked.h"

namespace forebay {

namespace {

constexpr int kDescriptorTries = 200;         // 20 s
constexpr long kStreamsPerConnection = 1000;  // the server's limit is the one that counts
constexpr size_t kDescriptorsLeftAlone = 64;  // for other files that the process opens

Status too_few_descriptors() {
  return unavailable(
      "the process may not open more files; raise the limit (ulimit -n) or lower the number of requests");
}

}  // namespace

CurlLoop::CurlLoop(const CurlTransportOptions& options)
    : options_(options), buffers_(ReadBuffers::make(options.idle_buffer_bytes)) {}

CurlLoop::~CurlLoop() {
  // The thread never started; otherwise it has released these itself.
  if (multi_ != nullptr) curl_multi_cleanup(multi_);
  if (share_ != nullptr) curl_share_cleanup(share_);
  if (wake_fd_ >= 0) ::close(wake_fd_);
  if (epoll_fd_ >= 0) ::close(epoll_fd_);
}

void CurlLoop::send(HttpRequest request, std::stop_token stop, HttpTransport::Done done) {
  auto call =
      calls_.begin<HttpResponse>("", std::move(stop), [this, done = std::move(done)](Result<HttpResponse> result) {
        if (!result.ok() && result.status().code() == Code::kCancelled && !some_stopped_.exchange(true)) wake();
        done(std::move(result));
      });
  // The token was stopped or the loop is closed: the answer has been given, and nothing is sent.
  if (call->answered()) return;
  Status started;
  {
    const Lock lock(mutex_);
    started = start_thread();
    if (started.ok()) {
      inbox_.push_back({std::move(request), call});
      // If the inbox had requests already, the loop has been woken and has not looked yet.
      if (inbox_.size() == 1) wake();
    }
  }
  if (!started.ok()) call->answer(started);
}

Status CurlLoop::start_thread() {
  if (thread_.joinable() || closing_) return {};
  FOREBAY_RETURN_IF_ERROR(open_multi());
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([self = shared_from_this()] { self->run(); });
  } catch (const std::system_error&) {
    return unavailable("no thread could be started; raise the limit of processes (ulimit -u)");
  }
  return {};
}

Status CurlLoop::open_multi() {
  static const bool ready = curl_global_init(CURL_GLOBAL_ALL) == CURLE_OK;
  if (!ready) return internal_error("libcurl could not be initialised");
  if (wake_fd_ < 0) wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (epoll_fd_ < 0) epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (wake_fd_ < 0 || epoll_fd_ < 0) return too_few_descriptors();
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake_fd_}};
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event) != 0 && errno != EEXIST) return too_few_descriptors();
  if (multi_ == nullptr) multi_ = curl_multi_init();
  if (share_ == nullptr) share_ = curl_share_init();
  if (multi_ == nullptr || share_ == nullptr) return out_of_budget("no memory for connections", 0);
  max_active_ = room_for_connections();
  // Needs no lock functions, because all handles that share it are used on the loop's thread.
  curl_share_setopt(share_, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(max_active_));
  curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(max_active_));
  curl_multi_setopt(multi_, CURLMOPT_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
  return {};
}

size_t CurlLoop::room_for_connections() const {
  rlimit limit{};
  const size_t used = entries_of("/proc/self/fd").size();
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || used == 0) return options_.max_connections;
  // Descriptors of running transfers are open now, and can be used again by later transfers.
  const size_t taken = used - std::min(used, active_.size()) + kDescriptorsLeftAlone;
  const size_t left = limit.rlim_cur > taken ? limit.rlim_cur - taken : 0;
  // A quarter is left free: a transfer may take more than its socket, such as the pipe of libcurl's
  // resolver.
  return std::clamp<size_t>(left / 4 * 3, 1, std::max<size_t>(options_.max_connections, 1));
}

void CurlLoop::close() {
  calls_.close();
  std::thread thread;
  {
    const Lock lock(mutex_);
    closing_ = true;
    thread.swap(thread_);
    if (thread.joinable()) wake();
  }
  if (!thread.joinable()) return;
  if (thread.get_id() == std::this_thread::get_id()) {  // an answer dropped the transport
    thread.detach();
  } else {
    thread.join();
  }
}

void CurlLoop::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
}

void CurlLoop::run() {
  pthread_setname_np(pthread_self(), "forebay-http");
  while (take_inbox()) {
    if (some_stopped_.exchange(false)) drop_answered();
    start_waiting();
    wait_and_serve();
    serve_timer();
    collect_finished();
    resume(openings_.due(Clock::now()));
    check_deadlines();
  }
  clean_up();
}

bool CurlLoop::take_inbox() {
  {
    const Lock lock(mutex_);
    if (closing_) return false;
    arrived_.swap(inbox_);
  }
  for (Waiting& next : arrived_) {
    queue_.push_back(std::make_unique<CurlTransfer>(std::move(next.request), std::move(next.call), *this));
  }
  arrived_.clear();
  return true;
}

void CurlLoop::start_waiting() {
  if (retry_at_ && Clock::now() < *retry_at_) return;
  retry_at_.reset();
  while (!queue_.empty() && active_.size() < max_active_) {
    Transfer next = std::move(queue_.front());
    queue_.pop_front();
    if (!next->call().answered()) start(std::move(next));
  }
}

void CurlLoop::start(Transfer transfer) {
  CurlHandle handle;
  if (idle_handles_.empty()) {
    handle.easy = curl_easy_init();
  } else {
    handle = std::move(idle_handles_.back());
    idle_handles_.pop_back();
  }
  if (handle.easy == nullptr) {
    transfer->call().answer(out_of_budget("no memory for a transfer", 0));
    return;
  }
  Status status = transfer->set_up(std::move(handle), share_);
  if (status.ok() && curl_multi_add_handle(multi_, transfer->easy()) != CURLM_OK) {
    status = internal_error("libcurl refused a transfer");
  }
  if (!status.ok()) {
    idle_handles_.push_back(transfer->take_handle());
    transfer->call().answer(std::move(status));
    return;
  }
  CurlTransfer* const started = transfer.get();
  active_.emplace(started, std::move(transfer));
  if (started->request().observer && started->descriptor_tries == 0) started->request().observer->on_started();
}

int CurlLoop::wait_ms() {
  std::optional<Clock::time_point> until = timer_;
  const auto earlier = [&until](Clock::time_point when) { until = until ? std::min(*until, when) : when; };
  if (!active_.empty() || !lookups_.empty() || openings_.has_waiting()) earlier(next_check_);
  if (const auto due = openings_.next_due()) earlier(*due);
  if (retry_at_) earlier(*retry_at_);
  {
    const Lock lock(mutex_);
    if (!inbox_.empty() || closing_) return 0;
  }
  if (!queue_.empty() && active_.size() < max_active_ && !retry_at_) return 0;
  if (!until) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count();
  // Rounded up: a wait that ends a moment too early would cost another turn of the loop.
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

void CurlLoop::wait_and_serve() {
  std::array<epoll_event, 256> events;
  const int count = ::epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), wait_ms());
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.fd == wake_fd_) {
      uint64_t ignored = 0;
      [[maybe_unused]] const auto size = ::read(wake_fd_, &ignored, sizeof ignored);
      continue;
    }
    int what = 0;
    if ((event.events & EPOLLIN) != 0) what |= CURL_CSELECT_IN;
    if ((event.events & EPOLLOUT) != 0) what |= CURL_CSELECT_OUT;
    if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) what |= CURL_CSELECT_ERR;
    int running = 0;
    curl_multi_socket_action(multi_, event.data.fd, what, &running);
  }
}

void CurlLoop::serve_timer() {
  if (!timer_ || Clock::now() < *timer_) return;
  timer_.reset();  // before the call, which sets the next
  int running = 0;
  curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
}

int CurlLoop::on_timer(CURLM*, long timeout_ms, void* loop) {
  auto& timer = static_cast<CurlLoop*>(loop)->timer_;
  timer.reset();
  if (timeout_ms >= 0) timer = Clock::now() + std::chrono::milliseconds(timeout_ms);
  return 0;
}

int CurlLoop::on_socket(CURL*, curl_socket_t socket, int what, void* loop, void*) {
  auto& self = *static_cast<CurlLoop*>(loop);
  uint32_t events = 0;
  if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) events |= EPOLLIN;
  if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) events |= EPOLLOUT;
  if (what == CURL_POLL_REMOVE) {
    self.forget(socket);
  } else {
    self.watch(socket, events);
  }
  return 0;
}

/// libcurl may report a socket as done after closing it, when another thread may own its number
/// already.
int CurlLoop::on_close_socket(void* loop, curl_socket_t socket) {
  static_cast<CurlLoop*>(loop)->forget(socket);
  return ::close(socket);
}

void CurlLoop::watch(int fd, uint32_t events) {
  const auto slot = static_cast<size_t>(fd);
  if (slot >= watched_.size()) watched_.resize(slot + 1);
  epoll_event event{.events = events, .data = {.fd = fd}};
  const bool known = watched_[slot];
  const int changed = ::epoll_ctl(epoll_fd_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
  // The record is wrong if a descriptor was closed elsewhere and its number was reused.
  if (changed != 0) ::epoll_ctl(epoll_fd_, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
  watched_[slot] = true;
}

void CurlLoop::forget(int fd) {
  const auto slot = static_cast<size_t>(fd);
  if (slot >= watched_.size() || !watched_[slot]) return;
  watched_[slot] = false;
  // The pipe of libcurl's resolver may be closed already, and another thread's file may have its
  // number. That file is not in this epoll set, so the call does not affect it
  // (tests/tsan_suppressions.txt).
  ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
}

void CurlLoop::collect_finished() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    CurlTransfer* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    finish(remove(transfer), code);
  }
}

CurlLoop::Transfer CurlLoop::remove(CurlTransfer* transfer) {
  const auto found = active_.find(transfer);
  Transfer removed = std::move(found->second);
  active_.erase(found);
  curl_multi_remove_handle(multi_, removed->easy());
  return removed;
}

void CurlLoop::finish(Transfer transfer, CURLcode code) {
  if (transfer->waits_for_lookup) return wait_for_lookup(std::move(transfer));
  if (transfer->waits_for_connection) return wait_for_connection(std::move(transfer));
  if (transfer->lacks_descriptor && code != CURLE_OK && transfer->descriptor_tries < kDescriptorTries) {
    return wait_for_descriptor(std::move(transfer));
  }
  // A timeout of the connection. Other timeouts are detected by check_deadlines(), which notifies
  // observers itself.
  if (code == CURLE_OPERATION_TIMEDOUT && transfer->request().observer) transfer->request().observer->on_timeout();
  Result<HttpResponse> result =
      transfer->lacks_descriptor && code != CURLE_OK ? too_few_descriptors() : transfer->result(code);
  const bool not_found = code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY;
  idle_handles_.push_back(transfer->take_handle());
  end_lookup(*transfer, not_found ? result.status() : Status());
  end_opening(*transfer);
  transfer->call().answer(std::move(result));
}

void CurlLoop::clean_up() {
  for (auto& [transfer, owner] : active_) {
    // close() has answered their calls. Handles must leave the multi handle before it is cleaned up
    // (curl_multi_cleanup(3)).
    curl_multi_remove_handle(multi_, transfer->easy());
    idle_handles_.push_back(transfer->take_handle());
  }
  active_.clear();
  queue_.clear();
  lookups_.clear();
  openings_.clear();
  for (const CurlHandle& handle : idle_handles_) curl_easy_cleanup(handle.easy);
  idle_handles_.clear();
  curl_multi_cleanup(std::exchange(multi_, nullptr));
  curl_share_cleanup(std::exchange(share_, nullptr));
}

}  // namespace forebay
