#include "store/http/curl_transport.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <filesystem>
#include <iterator>

#include "store/conformance.h"
#include "store/http/test_server.h"

namespace forebay {

namespace {

using conformance::Answers;
using conformance::text_of;
using Reply = TestServer::Reply;

HttpRequest get(std::string url) {
  HttpRequest request;
  request.url = std::move(url);
  return request;
}

Result<HttpResponse> send_wait(HttpTransport& transport, HttpRequest request) {
  Answers<HttpResponse> answers;
  transport.send(std::move(request), {}, answers.take());
  EXPECT_TRUE(answers.wait_for_count(1));
  return answers.last();
}

std::shared_ptr<const HttpConnectionOptions> impatient(int connect_ms, int first_byte_ms, int stall_ms) {
  auto options = std::make_shared<HttpConnectionOptions>();
  options->connect_timeout_ms = connect_ms;
  options->first_byte_timeout_ms = first_byte_ms;
  options->stall_timeout_ms = stall_ms;
  return options;
}

size_t open_descriptors() {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<size_t>(std::distance(Iterator("/proc/self/fd"), Iterator()));
}

void expect_unavailable(const Result<HttpResponse>& result, std::string_view words) {
  EXPECT_EQ(result.status().code(), Code::kUnavailable) << result.status().to_string();
  EXPECT_NE(result.status().message().find(words), std::string::npos) << result.status().message();
}

class Observer : public HttpObserver {
 public:
  void on_started() override { ++started; }
  void on_timeout() override { ++timeouts; }
  std::atomic<int> started{0}, timeouts{0};
};

}  // namespace

TEST(CurlTransport, BringsStatusHeadersAndBody) {
  const std::string body(300'000, 'b');
  TestServer server([&](const TestServer::Request& r) {
    EXPECT_EQ(r.header("x-asked"), "yes please");
    return Reply{TestServer::status(404, "X-Said:  two words \r\nETag: \"1\"\r\n", body)};
  });
  const auto transport = curl_transport();
  HttpRequest request = get(server.url("/a/../b%20c?x=%2F"));
  request.headers = {{"X-Asked", "yes please"}};
  const auto response = send_wait(*transport, request);
  ASSERT_TRUE(response.ok()) << response.status().to_string();
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->header("x-said"), "two words");
  EXPECT_EQ(response->header("etag"), "\"1\"");
  EXPECT_EQ(response->header("missing"), "");
  EXPECT_EQ(text_of(response->body), body);
}

TEST(CurlTransport, SendsTheTargetAsItIs) {
  TestServer server([](const TestServer::Request& r) { return Reply{TestServer::ok(r.target)}; });
  const auto transport = curl_transport();
  for (const std::string target : {"/a/../b%20c?x=%2F", "/a//b/./c", "/%2e%2e/x", "/"}) {
    EXPECT_EQ(text_of(send_wait(*transport, get(server.url(target)))->body), target);
  }
}

TEST(CurlTransport, SendsMethodsAndBodies) {
  TestServer server([](const TestServer::Request& r) {
    return Reply{r.method == "HEAD" ? "HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n"
                                    : TestServer::ok(r.method + ":" + r.body)};
  });
  const auto transport = curl_transport();
  for (const std::string method : {"PUT", "POST", "DELETE", "GET", "PUT"}) {
    HttpRequest request = get(server.url("/"));
    request.method = method;
    const std::string body = method == "PUT" || method == "POST" ? std::string(200'000, 'u') : "";
    request.body = Buffer::allocate(body.size());
    if (!body.empty()) std::memcpy(request.body.data(), body.data(), body.size());
    EXPECT_EQ(text_of(send_wait(*transport, request)->body), method + ":" + body);
  }
  HttpRequest head = get(server.url("/"));
  head.method = "HEAD";
  head.max_body_bytes = 10;
  const auto response = send_wait(*transport, head);
  ASSERT_TRUE(response.ok()) << response.status().to_string();
  EXPECT_EQ(response->header("content-length"), "12345");
  EXPECT_EQ(server.connections(), 1) << "one connection serves them all";
}

TEST(CurlTransport, AShortPostSaysOfItselfWhatItIsTold) {
  TestServer server(
      [](const TestServer::Request& r) { return Reply{TestServer::ok(r.header("content-type") + r.body)}; });
  const auto transport = curl_transport();
  for (const std::string type : {"", "text/plain"}) {
    HttpRequest request = get(server.url("/"));
    request.method = "POST";
    if (!type.empty()) request.headers = {{"Content-type", type}};
    std::memcpy((request.body = Buffer::allocate(3)).data(), "abc", 3);
    EXPECT_EQ(text_of(send_wait(*transport, request)->body), type + "abc");
  }
}

TEST(CurlTransport, RedirectsAreAnswers) {
  TestServer server(
      [](const TestServer::Request&) { return Reply{TestServer::status(307, "Location: http://elsewhere/\r\n")}; });
  const auto response = send_wait(*curl_transport(), get(server.url("/")));
  EXPECT_EQ(response->status, 307);
  EXPECT_EQ(server.requests(), 1);
}

TEST(CurlTransport, BodiesOfUnknownLengthArrive) {
  const std::string part(50'000, 'c');
  TestServer server([&](const TestServer::Request& r) {
    if (r.target == "/closed") return Reply{"HTTP/1.0 200 OK\r\n\r\n" + part, Reply::kClose};
    return Reply{fmt::format("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n3\r\nend\r\n0\r\n\r\n",
                             part.size(), part)};
  });
  const auto transport = curl_transport();
  EXPECT_EQ(text_of(send_wait(*transport, get(server.url("/chunked")))->body), part + "end");
  EXPECT_EQ(text_of(send_wait(*transport, get(server.url("/closed")))->body), part);
  HttpRequest small = get(server.url("/chunked"));
  small.max_body_bytes = 40'000;
  const auto refused = send_wait(*transport, small);
  EXPECT_EQ(refused.status().code(), Code::kUnsupported);
  EXPECT_NE(refused.status().message().find("40000 are allowed"), std::string::npos) << refused.status().message();
  // It asks for twice as much, because no size was announced.
  small.try_raise_body_limit = [](uint64_t bytes) { return bytes == 80'000; };
  EXPECT_EQ(text_of(send_wait(*transport, small)->body), part + "end");
}

TEST(CurlTransport, AnAnnouncedLengthIsRefusedBeforeItsMemoryIsTaken) {
  TestServer server([](const TestServer::Request&) {
    return Reply{"HTTP/1.1 200 OK\r\nContent-Length: 9000000000000\r\n\r\nxx", Reply::kHang};
  });
  const auto refused = send_wait(*curl_transport(), get(server.url("/")));
  EXPECT_EQ(refused.status().code(), Code::kUnsupported);
}

TEST(CurlTransport, ACutBodyIsUnavailableAndSaysWhere) {
  TestServer server([](const TestServer::Request& r) {
    if (r.target == "/chunked")
      return Reply{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nabc", Reply::kClose};
    return Reply{"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n1234567", Reply::kClose};
  });
  const auto transport = curl_transport();
  expect_unavailable(send_wait(*transport, get(server.url("/"))), "cut off after 7 of 100 bytes");
  expect_unavailable(send_wait(*transport, get(server.url("/chunked"))), "cut off after");
}

TEST(CurlTransport, AClosedConnectionAndNoServerAreToldApart) {
  TestServer server([](const TestServer::Request&) { return Reply{"", Reply::kClose}; });
  const auto transport = curl_transport();
  expect_unavailable(send_wait(*transport, get(server.url("/"))),
                     fmt::format("127.0.0.1:{} closed the connection without an answer", server.port()));
  std::string nobody;
  {
    TestServer gone([](const TestServer::Request&) { return Reply{}; });
    nobody = gone.url("/");
  }
  expect_unavailable(send_wait(*transport, get(nobody)), "refuses the connection");
}

TEST(CurlTransport, AHostThatDoesNotExistIsSaidToBeMissing) {
  const auto transport = curl_transport();
  Answers<HttpResponse> answers;
  for (int i = 0; i < 200; ++i) transport->send(get("http://forebay-test.invalid/x"), {}, answers.take());
  ASSERT_TRUE(answers.wait_for_count(200));
  for (const Code code : answers.codes()) EXPECT_EQ(code, Code::kUnavailable);
  expect_unavailable(answers.last(), "forebay-test.invalid:80 cannot be found");
}

TEST(CurlTransport, SilenceIsUnavailableAfterItsTime) {
  TestServer server([](const TestServer::Request& r) {
    return Reply{r.target == "/stalled" ? "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n1234567" : "", Reply::kHang};
  });
  const auto transport = curl_transport();
  auto observer = std::make_shared<Observer>();
  HttpRequest silent = get(server.url("/silent"));
  silent.observer = observer;
  silent.connection = impatient(10'000, 150, 10'000);
  expect_unavailable(send_wait(*transport, silent), "did not answer within 0.15 s");
  EXPECT_EQ(observer->started, 1);
  EXPECT_EQ(observer->timeouts, 1);
  HttpRequest stalled = get(server.url("/stalled"));
  stalled.connection = impatient(10'000, 10'000, 150);
  expect_unavailable(send_wait(*transport, stalled), "stalled after 7 bytes");
  HttpRequest hurried = get(server.url("/silent"));
  hurried.first_byte_within_ms = 150;
  expect_unavailable(send_wait(*transport, hurried), "did not answer within 0.15 s");
}

TEST(CurlTransport, AConnectionThatIsNotMadeIsUnavailableAfterItsTime) {
  // A listener whose queue is full does not answer.
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 0), 0);
  socklen_t size = sizeof address;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  std::vector<int> queue;
  for (int i = 0; i < 4; ++i) {
    queue.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    (void)::connect(queue.back(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  HttpRequest request = get(fmt::format("http://127.0.0.1:{}/", ntohs(address.sin_port)));
  request.connection = impatient(200, 10'000, 10'000);
  auto observer = std::make_shared<Observer>();
  request.observer = observer;
  expect_unavailable(send_wait(*curl_transport(), request), "within 0.2 s");
  EXPECT_EQ(observer->timeouts, 1);
  for (const int fd : queue) ::close(fd);
  ::close(listener);
}

TEST(CurlTransport, AThousandTransfersToASilentServerAreCancelledAtOnce) {
  TestServer server([](const TestServer::Request&) { return Reply{"", Reply::kHang}; });
  const auto transport = curl_transport();
  Answers<HttpResponse> answers;
  std::stop_source stop;
  constexpr size_t kTransfers = 1000;
  for (size_t i = 0; i < kTransfers; ++i) transport->send(get(server.url("/")), stop.get_token(), answers.take());
  while (server.requests() < 900) std::this_thread::yield();
  stop.request_stop();
  EXPECT_EQ(answers.count(), kTransfers) << "every call has answered before request_stop() returns";
  for (const Code code : answers.codes()) EXPECT_EQ(code, Code::kCancelled);
}

TEST(CurlTransport, TheEndAnswersWhatIsUnderWay) {
  TestServer server([](const TestServer::Request&) { return Reply{"", Reply::kHang}; });
  for (int round = 0; round < 10; ++round) {
    auto transport = curl_transport();
    Answers<HttpResponse> answers;
    for (int i = 0; i < 50; ++i) transport->send(get(server.url("/")), {}, answers.take());
    transport.reset();
    EXPECT_EQ(answers.codes(), std::vector<Code>(50, Code::kCancelled));
  }
}

TEST(CurlTransport, AnAnswerMayDropTheTransport) {
  TestServer server([](const TestServer::Request&) { return Reply{TestServer::ok("x")}; });
  for (int round = 0; round < 20; ++round) {
    Answers<HttpResponse> answers;
    auto* held = new std::shared_ptr<HttpTransport>(curl_transport());
    HttpTransport* const plain = held->get();
    plain->send(get(server.url("/")), {}, [held, done = answers.take()](Result<HttpResponse> result) {
      delete held;
      done(std::move(result));
    });
    EXPECT_TRUE(answers.wait_for_count(1));
  }
}

TEST(CurlTransport, TheSharedOneIsGoneWithItsLastUser) {
  std::weak_ptr<HttpTransport> seen;
  {
    const auto one = shared_http_transport(), other = shared_http_transport();
    EXPECT_EQ(one, other);
    seen = one;
  }
  EXPECT_TRUE(seen.expired());
}

TEST(CurlTransport, NothingSecretGetsIntoMessages) {
  TestServer server([](const TestServer::Request&) { return Reply{"", Reply::kClose}; });
  HttpRequest request = get(server.url("/x?X-Amz-Signature=s3cret"));
  request.headers = {{"Authorization", "Bearer s3cret"}};
  const auto transport = curl_transport();
  EXPECT_EQ(send_wait(*transport, request).status().to_string().find("s3cret"), std::string::npos);
  request.headers = {{"Authorization", "s3cret\r\nX-Injected: 1"}};
  const auto refused = send_wait(*transport, request);
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(refused.status().to_string().find("s3cret"), std::string::npos);
  for (const std::string url : {"ftp://s3cret@host/", "http://user:s3cret@127.0.0.1:1/", "user:s3cret@host/x"}) {
    EXPECT_EQ(send_wait(*transport, get(url)).status().to_string().find("s3cret"), std::string::npos);
  }
}

TEST(CurlTransport, ProxiesOfTheOptionsAndOfTheEnvironmentAreUsed) {
  TestServer proxy([](const TestServer::Request& r) {
    if (r.method == "CONNECT")
      return Reply{TestServer::status(r.target == "asks.invalid:443" ? 407 : 502), Reply::kClose};
    return Reply{TestServer::ok(r.target)};
  });
  const auto transport = curl_transport();
  auto options = std::make_shared<HttpConnectionOptions>();
  options->proxy = proxy.url("");
  HttpRequest request = get("http://forebay-test.invalid/x");
  request.connection = options;
  EXPECT_EQ(text_of(send_wait(*transport, request)->body), "http://forebay-test.invalid/x");
  request.url = "https://asks.invalid/x";
  const auto asked = send_wait(*transport, request);
  EXPECT_EQ(asked.status().code(), Code::kInvalidArgument);
  EXPECT_NE(asked.status().message().find("the proxy on the way to asks.invalid:443 asks for a user"),
            std::string::npos);
  request.url = "https://broken.invalid/x";
  expect_unavailable(send_wait(*transport, request), "the proxy could not connect to broken.invalid:443 (status 502)");

  ::setenv("http_proxy", proxy.url("").c_str(), 1);
  ::setenv("no_proxy", "direct.invalid", 1);
  EXPECT_EQ(text_of(send_wait(*transport, get("http://forebay-test.invalid/y"))->body),
            "http://forebay-test.invalid/y");
  expect_unavailable(send_wait(*transport, get("http://direct.invalid/y")), "cannot be found");
  ::unsetenv("http_proxy");
  ::unsetenv("no_proxy");
}

TEST(CurlTransport, ADirectRequestGoesPastEveryProxy) {
  TestServer proxy([](const TestServer::Request&) { return Reply{TestServer::ok("from the proxy")}; });
  TestServer server([](const TestServer::Request&) { return Reply{TestServer::ok("from the server")}; });
  const auto transport = curl_transport();
  auto options = std::make_shared<HttpConnectionOptions>();
  options->proxy = proxy.url("");
  HttpRequest request = get(server.url("/"));
  request.connection = options;
  EXPECT_EQ(text_of(send_wait(*transport, request)->body), "from the proxy");
  auto direct = std::make_shared<HttpConnectionOptions>(*options);
  direct->direct = true;
  request.connection = direct;
  for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"})
    ::setenv(name, proxy.url("").c_str(), 1);
  EXPECT_EQ(text_of(send_wait(*transport, request)->body), "from the server");
  for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) ::unsetenv(name);
  EXPECT_EQ(proxy.requests(), 1);
}

TEST(CurlTransport, AForkIsToldAndDoesNotHang) {
  TestServer server([](const TestServer::Request&) { return Reply{TestServer::ok("x")}; });
  auto transport = shared_http_transport();
  ASSERT_TRUE(send_wait(*transport, get(server.url("/"))).ok());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);
    const bool refused = send_wait(*transport, get(server.url("/"))).status().code() == Code::kInvalidArgument;
    transport.reset();
    const bool works = !kChildMayStartThreads || send_wait(*shared_http_transport(), get(server.url("/"))).ok();
    ::_exit(refused && works ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(send_wait(*transport, get(server.url("/"))).ok());
}

TEST(CurlTransport, FewDescriptorsMakeItSlowerButDoNotFail) {
  TestServer server([](const TestServer::Request&) { return Reply{TestServer::ok("x")}; });
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // The server in this process needs as many again.
  for (const rlim_t spare : {rlim_t{40}, rlim_t{100}}) {
    rlimit few = before;
    few.rlim_cur = open_descriptors() + spare;
    const auto transport = curl_transport();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    Answers<HttpResponse> answers;
    for (int i = 0; i < 300; ++i) transport->send(get(server.url("/")), {}, answers.take());
    const bool all = answers.wait_for_count(300);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_TRUE(all);
    for (const Code code : answers.codes()) EXPECT_EQ(code, Code::kOk);
  }
}

TEST(CurlTransport, TwentyThousandRequestsLeaveNothingBehind) {
  TestServer server([](const TestServer::Request& r) {
    return r.number % 100 == 7 ? Reply{TestServer::ok("last"), Reply::kClose} : Reply{TestServer::ok("answer")};
  });
  const auto transport = curl_transport();
  size_t after_a_tenth = 0;
  for (int round = 0; round < 200; ++round) {
    Answers<HttpResponse> answers;
    for (int i = 0; i < 100; ++i) transport->send(get(server.url("/")), {}, answers.take());
    ASSERT_TRUE(answers.wait_for_count(100));
    for (const Code code : answers.codes()) ASSERT_EQ(code, Code::kOk);
    if (round == 20) after_a_tenth = open_descriptors();
  }
  EXPECT_LE(open_descriptors(), after_a_tenth + 210)
      << "at most one connection a transfer at a time, and its other end";
  EXPECT_LE(open_descriptors(), 600u);
}

}  // namespace forebay
