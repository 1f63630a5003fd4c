#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace forebay {

#ifdef __SANITIZE_THREAD__
constexpr bool kChildMayStartThreads = false;  ///< in a fork; ThreadSanitizer ends it
#else
constexpr bool kChildMayStartThreads = true;
#endif

/// A web server for tests that can misbehave: raw sockets, one thread for each connection. Its
/// destructor shuts all connections down, in whatever state they are.
class TestServer {
 public:
  struct Request {
    std::string method, target, head, body;
    int number = 0;                                    ///< among all requests, from 0
    int connection = 0;                                ///< number of its connection, from 0
    std::string header(std::string_view name) const {  // name in lower case, as "\r\nname:"
      std::string lower = head;
      std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      const size_t at = lower.find(fmt::format("\r\n{}: ", name));
      if (at == std::string::npos) return "";
      const size_t begin = at + name.size() + 4;
      return head.substr(begin, head.find("\r\n", begin) - begin);
    }
  };
  struct Reply {
    std::string bytes;                           ///< as they are sent
    enum { kKeep, kClose, kHang } then = kKeep;  ///< kHang: the connection stays open and silent
  };
  using Handler = std::function<Reply(const Request&)>;

  explicit TestServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 4096);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~TestServer() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
  }

  int port() const { return port_; }
  std::string url(std::string_view target) const { return fmt::format("http://127.0.0.1:{}{}", port_, target); }
  int requests() const { return requests_; }
  int connections() const { return connections_; }

  static std::string ok(std::string_view body, std::string_view headers = "") {
    return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{}\r\n{}", body.size(), headers, body);
  }
  static std::string status(int code, std::string_view headers = "", std::string_view body = "") {
    return fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\n{}\r\n{}", code, body.size(), headers, body);
  }

 private:
  void accept_all() {
    while (true) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      const int number = connections_++;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      threads_.emplace_back([this, fd, number] {
        serve(fd, number);
        const std::lock_guard inner(mutex_);
        std::erase(open_, fd);
        ::close(fd);
      });
    }
  }

  void serve(int fd, int connection) {
    std::string got;
    while (true) {
      size_t end = got.find("\r\n\r\n");
      while (end == std::string::npos) {
        if (!receive(fd, &got)) return;
        end = got.find("\r\n\r\n");
      }
      Request request;
      request.head = got.substr(0, end + 4);
      got.erase(0, end + 4);
      request.method = request.head.substr(0, request.head.find(' '));
      const size_t begin = request.method.size() + 1;
      request.target = request.head.substr(begin, request.head.find(' ', begin) - begin);
      const std::string length = request.header("content-length");
      const size_t body = length.empty() ? 0 : std::stoul(length);
      while (got.size() < body) {
        if (!receive(fd, &got)) return;
      }
      request.body = got.substr(0, body);
      got.erase(0, body);
      request.number = requests_++;
      request.connection = connection;
      const Reply reply = handler_(request);
      std::string_view left = reply.bytes;
      while (!left.empty()) {
        const ssize_t sent = ::send(fd, left.data(), left.size(), MSG_NOSIGNAL);
        if (sent <= 0) return;
        left.remove_prefix(static_cast<size_t>(sent));
      }
      if (reply.then == Reply::kClose) return;
      if (reply.then == Reply::kHang) {
        while (receive(fd, &got)) got.clear();
        return;
      }
    }
  }

  static bool receive(int fd, std::string* got) {
    char bytes[16384];
    const ssize_t size = ::recv(fd, bytes, sizeof bytes, 0);
    if (size <= 0) return false;
    got->append(bytes, static_cast<size_t>(size));
    return true;
  }

  const Handler handler_;
  int listener_ = -1, port_ = 0;
  std::thread acceptor_;
  std::atomic<int> requests_{0}, connections_{0};
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
};

/// Serves objects ("/a" → bytes) correctly: HEAD, GET, ranges, strong ETags.
class ObjectServer {
 public:
  explicit ObjectServer(std::map<std::string, std::string> objects)
      : objects_(std::move(objects)), server_([this](const TestServer::Request& r) { return answer(r); }) {}
  std::string url(std::string_view target) const { return server_.url(target); }
  void set(const std::string& target, std::string bytes) {
    const std::lock_guard lock(mutex_);
    objects_[target] = std::move(bytes);
  }
  const TestServer& server() const { return server_; }

 private:
  TestServer::Reply answer(const TestServer::Request& request) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(request.target);
    if (found == objects_.end()) return {TestServer::status(404)};
    const std::string& bytes = found->second;
    const std::string tag = fmt::format("ETag: \"{:x}\"\r\n", std::hash<std::string>()(bytes));
    if (request.method == "HEAD") {
      return {fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{}\r\n", bytes.size(), tag)};
    }
    const std::string range = request.header("range");
    size_t first = 0, last = 0;
    if (std::sscanf(range.c_str(), "bytes=%zu-%zu", &first, &last) != 2) return {TestServer::ok(bytes, tag)};
    if (first >= bytes.size()) return {TestServer::status(416)};
    last = std::min(last, bytes.size() - 1);
    const std::string part = bytes.substr(first, last - first + 1);
    return {fmt::format("HTTP/1.1 206 X\r\nContent-Length: {}\r\nContent-Range: bytes {}-{}/{}\r\n{}\r\n{}",
                        part.size(), first, last, bytes.size(), tag, part)};
  }

  std::mutex mutex_;
  std::map<std::string, std::string> objects_;
  TestServer server_;
};

}  // namespace forebay
