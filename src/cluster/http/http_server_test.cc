#include "cluster/http/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <random>

#include <fmt/format.h>

#include "cluster/address.h"
#include "cluster/job_tls_test_support.h"
#include "cluster/transport_conformance.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

using conformance::kPass;
using conformance::kTexts;
using conformance::TextService;

/// A raw connection, as any outsider could make it.
class RawConnection {
 public:
  explicit RawConnection(const std::string& address) {
    const HostPort at = *parse_host_port(address);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(at.port);
    ::inet_pton(AF_INET, at.host.c_str(), &to.sin_addr);
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  ~RawConnection() { ::close(fd_); }
  bool connected() const { return connected_; }
  bool send(std::string_view text) const {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  /// Reads until the server closes the connection.
  std::string receive_all() const {
    std::string all;
    char bytes[4096];
    for (ssize_t got = 0; (got = ::recv(fd_, bytes, sizeof bytes, 0)) > 0;) all.append(bytes, static_cast<size_t>(got));
    return all;
  }
  bool receive(char& byte) const { return ::recv(fd_, &byte, 1, 0) == 1; }
  void close_sending() const { ::shutdown(fd_, SHUT_WR); }
  bool was_reset() const {
    int error = 0;
    socklen_t size = sizeof error;
    char byte;
    if (::recv(fd_, &byte, 1, MSG_DONTWAIT) < 0 && errno != EAGAIN) return true;
    return ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0;
  }

 private:
  int fd_ = -1;
  bool connected_ = false;
};

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_.push_back(line);
    });
    texts_->put(question(), "the secret of the job");
  }
  void TearDown() override {
    listening_.reset();
    set_log_sink(nullptr);
  }
  void serve(HttpServerOptions options = {}) {
    auto made = http_server("127.0.0.1:0", kPass, {{kTexts, texts_}}, options);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    listening_ = std::move(*made);
  }
  static std::string question() { return "what is the secret of the others"; }
  static std::string path() { return std::string(kServicePath) + kTexts; }
  static std::string head(const std::string& authorization, const std::string& generation, size_t length,
                          const std::string& target = path()) {
    return fmt::format(
        "POST {} HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\nX-Forebay-Generation: {}\r\nContent-Length: {}\r\n"
        "Connection: close\r\n\r\n",
        target, authorization, generation, length);
  }
  static std::string good_head(size_t length) { return head("Bearer " + kPass.token, "3", length); }
  std::string ask(const std::string& bytes) const {
    const RawConnection connection(listening_->address());
    connection.send(bytes);
    connection.close_sending();
    return connection.receive_all();
  }
  void expect_nothing_leaked(const std::string& answer) const {
    EXPECT_EQ(answer.find("secret"), std::string::npos) << answer;
    EXPECT_EQ(answer.find(kPass.token), std::string::npos);
    EXPECT_EQ(texts_->asked(), asked_);
  }
  std::vector<std::string> log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  const std::shared_ptr<TextService> texts_ = std::make_shared<TextService>();
  int asked_ = 0;  ///< calls of the service
  std::unique_ptr<Listening> listening_;
  std::mutex mutex_;
  std::vector<std::string> log_;
};

}  // namespace

TEST_F(HttpServerTest, AnswersTheHostsOfItsJob) {
  serve();
  const std::string answer = ask(good_head(question().size()) + question());
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("the secret of the job"), std::string::npos);
  EXPECT_TRUE(log().empty());
}

TEST_F(HttpServerTest, StrangersAreRefusedBeforeTheirBodyIsReadAndLoggedOnce) {
  serve();
  // Their bodies never arrive: a server that waited for them would wait forever.
  for (const std::string& wrong : {std::string("Bearer wrong"), std::string(""), kPass.token, "bearer " + kPass.token,
                                   "Bearer " + kPass.token + "0", "Bearer " + kPass.token.substr(1)}) {
    const RawConnection connection(listening_->address());
    connection.send(head(wrong, "3", 1000));
    const std::string answer = connection.receive_all();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ")) << answer;
    expect_nothing_leaked(answer);
  }
  EXPECT_EQ(listening_->stats().refused, 6u);
  ASSERT_EQ(log().size(), 1u);
  EXPECT_EQ(log().front().find(kPass.token), std::string::npos);
}

TEST_F(HttpServerTest, AnotherGenerationIsRefused) {
  serve();
  for (const std::string generation : {"2", "4", "", "03", "-3"}) {
    const std::string answer = ask(head("Bearer " + kPass.token, generation, question().size()) + question());
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 409 ")) << generation << answer;
    expect_nothing_leaked(answer);
  }
  EXPECT_EQ(log().size(), 1u);
}

TEST_F(HttpServerTest, MalformedQuestionsAreRefused) {
  serve();
  for (const std::string& wrong : {std::string("0123456789"), question() + "x"}) {
    ++asked_;
    expect_nothing_leaked(ask(good_head(wrong.size()) + wrong));
  }
  expect_nothing_leaked(ask(good_head(kMaxRequestBytes + 1)));
  expect_nothing_leaked(ask(good_head(size_t{1} << 60)));
  expect_nothing_leaked(ask(head("Bearer " + kPass.token, "3", question().size(), "/etc/passwd") + question()));
  expect_nothing_leaked(ask("GET " + path() + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + kPass.token +
                            "\r\nX-Forebay-Generation: 3\r\n\r\n"));
  expect_nothing_leaked(ask(std::string(100'000, 'h')));
  expect_nothing_leaked(ask("POST / HTTP/1.1\r\nX: " + std::string(20'000, 'h')));
  EXPECT_LE(log().size(), 2u);
  EXPECT_GE(listening_->stats().refused, 6u);
}

// A connection that is closed with unread bytes is reset, and the reset may overtake the answer.
TEST_F(HttpServerTest, ARefusalArrivesThoughTheRequestIsStillBeingSent) {
  serve();
  for (int i = 0; i < 50; ++i) {
    const RawConnection connection(listening_->address());
    ASSERT_TRUE(connection.send(good_head(kMaxRequestBytes + 1) + std::string(1000, 'r')));
    std::string answer;
    for (char byte; !answer.ends_with("\r\n\r\n") && connection.receive(byte);) answer += byte;
    EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 413") << i;
    EXPECT_TRUE(connection.send(std::string(kMaxRequestBytes - 999, 'r')));
    EXPECT_EQ(connection.receive_all(), "");
    EXPECT_FALSE(connection.was_reset()) << i;
  }
}

TEST_F(HttpServerTest, RandomBytesDoNoHarm) {
  serve();
  const std::string right = good_head(question().size()) + question();
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    std::string bytes = right;
    for (int flips = static_cast<int>(random() % 4) + 1; flips > 0; --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 3 == 0) bytes.resize(random() % bytes.size());
    (void)ask(bytes);
  }
  EXPECT_TRUE(ask(right).starts_with("HTTP/1.1 200 OK\r\n")) << "it still serves";
}

TEST_F(HttpServerTest, ConnectionsThatSayNothingAreClosed) {
  HttpServerOptions options;
  options.idle = options.patience = std::chrono::milliseconds(50);
  serve(options);
  const RawConnection silent(listening_->address()), half(listening_->address());
  half.send(good_head(question().size()) + question().substr(0, 10));
  EXPECT_EQ(silent.receive_all(), "");
  EXPECT_EQ(half.receive_all(), "");
}

TEST_F(HttpServerTest, ConnectionsThatNeverAgreeOnTlsAreClosed) {
  const JobCertificates certificates;
  HttpServerOptions options;
  options.patience = std::chrono::milliseconds(50);
  options.tls = certificates.tls();
  serve(options);
  const RawConnection silent(listening_->address()), half(listening_->address());
  half.send(std::string_view("\x16\x03\x01\x02\x00\x01", 6));
  EXPECT_EQ(silent.receive_all(), "");
  EXPECT_EQ(half.receive_all(), "");
  EXPECT_EQ(listening_->stats().refused, 0u);
}

TEST_F(HttpServerTest, WhoAsksWithoutTlsIsAnsweredWithoutIt) {
  const JobCertificates certificates;
  serve({.tls = certificates.tls()});
  const std::string answer = ask(good_head(question().size()) + question());
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 426 Upgrade Required\r\n")) << answer;
  expect_nothing_leaked(answer);
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    std::string bytes = seed % 2 == 0 ? "" : std::string("\x16\x03\x01\x00\x20\x01", 6);
    for (int i = 0; i < 40; ++i) bytes.push_back(static_cast<char>(random()));
    expect_nothing_leaked(ask(bytes));
  }
}

TEST_F(HttpServerTest, ConnectionsBeyondTheLimitAreClosedAndOthersGoOn) {
  HttpServerOptions options;
  options.most_connections = 3;
  serve(options);
  std::vector<std::unique_ptr<RawConnection>> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(std::make_unique<RawConnection>(listening_->address()));
    held.back()->send("POST ");
  }
  const RawConnection beyond(listening_->address());
  EXPECT_EQ(beyond.receive_all(), "");
  held.front()->send("x");
  held.clear();
  std::string answer;
  for (int i = 0; i < 1000 && answer.empty(); ++i) answer = ask(good_head(question().size()) + question());
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpServerTest, ItsEndDoesNotWaitForOpenConnections) {
  serve();
  const RawConnection silent(listening_->address());
  silent.send("POST ");
  listening_.reset();
  EXPECT_EQ(silent.receive_all(), "");
}

TEST_F(HttpServerTest, AnAddressOfAnotherHostIsRefusedByName) {
  const auto made = http_server("192.0.2.1:0", kPass, {{kTexts, texts_}});
  EXPECT_EQ(made.status().code(), Code::kInvalidArgument) << made.status().to_string();
  EXPECT_NE(made.status().message().find("192.0.2.1"), std::string::npos);
}

TEST_F(HttpServerTest, AllInterfacesOnlyWhereThatIsAskedFor) {
  HttpServerOptions options;
  options.any_interface = true;
  EXPECT_TRUE(http_server("0.0.0.0:0", kPass, {{kTexts, texts_}}, options).ok());
}

}  // namespace forebay
