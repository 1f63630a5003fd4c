// The promises of Store, tried on a real web server (nginx): over HTTP/1.1, and over TLS with HTTP/2.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <fmt/format.h>

#include "servers/variable.h"
#include "store/conformance.h"
#include "store/http/curl_transport.h"
#include "store/http/http_store.h"
#include "store/http/keys_below_url.h"

namespace forebay::conformance {
namespace {

/// Writes the objects into a new folder of the server; its name.
std::string write_objects(const Objects& objects) {
  static std::atomic<int> count{0};
  const std::string folder = fmt::format("conformance-{}-{}/", ::getpid(), ++count);
  for (const auto& [key, bytes] : objects) {
    const std::filesystem::path path = variable("FOREBAY_TEST_HTTP_ROOT") + '/' + folder + key;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  return folder;
}

std::shared_ptr<Store> trusting_store() {
  return http_store(parse_http_options({{"ca_file", variable("FOREBAY_TEST_CA")}}).value());
}

Driver driver(std::string name, const std::string& server) {
  const std::string root = variable(server);
  if (root.empty()) return {std::move(name), nullptr};
  const auto make = [root](const Objects& objects) -> std::shared_ptr<Store> {
    return std::make_shared<KeysBelowUrl>(nullptr, root + '/' + write_objects(objects), trusting_store());
  };
  return {.name = std::move(name), .make = make, .lists = false};
}

INSTANTIATE_TEST_SUITE_P(Http, StoreConformance,
                         testing::Values(driver("http", "FOREBAY_TEST_HTTP"), driver("https", "FOREBAY_TEST_HTTPS")),
                         [](const auto& driver_info) { return driver_info.param.name; });

class WebServer : public testing::Test {
 protected:
  void SetUp() override {
    if (!variable("FOREBAY_TEST_HTTPS").empty()) return;
    if (variable("FOREBAY_REQUIRE_SERVERS") == "1") FAIL() << "SERVERS ABSENT: nginx";
    GTEST_SKIP() << "SERVERS ABSENT: nginx; run it by tests/servers/with_servers";
  }
  std::string https(const std::string& path) { return variable("FOREBAY_TEST_HTTPS") + '/' + path; }
};

void expect_error(const Status& status, Code code, std::string_view words) {
  EXPECT_EQ(status.code(), code) << status.to_string();
  EXPECT_NE(status.message().find(words), std::string::npos) << status.to_string();
}

TEST_F(WebServer, AnUnknownAuthorityIsNotTrustedAndTheWayOutIsNamed) {
  const std::string url = https(write_objects({{"x", "1"}}) + "x");
  const auto refused = read_wait(*http_store(), whole(url), {});
  expect_error(refused.status(), Code::kInvalidArgument, "is not trusted");
  expect_error(refused.status(), Code::kInvalidArgument, "ca_file");
  EXPECT_TRUE(read_wait(*http_store(parse_http_options({{"verify", "false"}}).value()), whole(url), {}).ok());
  EXPECT_TRUE(read_wait(*trusting_store(), whole(url), {}).ok());
}

TEST_F(WebServer, AServerWithoutTlsIsToldFromOneWithABadCertificate) {
  const std::string url = "https" + variable("FOREBAY_TEST_HTTP").substr(4) + "/x";
  expect_error(read_wait(*trusting_store(), whole(url), {}).status(), Code::kInvalidArgument, "does not speak TLS");
}

TEST_F(WebServer, TlsBringsHttp2WhichServesManyRequestsAtOnce) {
  const std::string url = https(write_objects({{"x", std::string(100'000, 'x')}}) + "x");
  HttpRequest request;
  request.url = url;
  // What is promised is that all are served, however slow the machine.
  request.connection =
      parse_http_options({{"ca_file", variable("FOREBAY_TEST_CA")}, {"timeout_s", "120"}, {"connect_timeout_s", "120"}})
          .value()
          .connection;
  const auto transport = curl_transport();
  for (int round = 0; round < 10; ++round) {
    Answers<HttpResponse> answers;
    for (int i = 0; i < 1000; ++i) transport->send(request, {}, answers.take());
    ASSERT_TRUE(answers.wait_for_count(1000));
    for (const Code code : answers.codes()) ASSERT_EQ(code, Code::kOk);
    EXPECT_EQ(answers.last()->major_version, 2);
    EXPECT_EQ(answers.last()->body.size(), 100'000u);
  }
}

/// Connections that requests for this path came by, as the server of that variable counts them.
size_t connections_to(const std::string& server, const std::string& path) {
  const std::string url = variable(server.c_str()), port = url.substr(url.rfind(':') + 1);
  std::ifstream log(variable("FOREBAY_TEST_HTTPS_CONNECTIONS"));
  std::set<std::string> connections;
  for (std::string at, connection, asked; log >> at >> connection >> asked;) {
    if (at == port && asked == '/' + path) connections.insert(connection);
  }
  return connections.size();
}

class Connections : public WebServer {
 protected:
  /// `count` requests at once; their answers are whole.
  void ask(const std::string& server, const std::string& path, int count) {
    HttpRequest request;
    request.url = variable(server.c_str()) + '/' + path;
    request.connection = connection_;
    Answers<HttpResponse> answers;
    for (int i = 0; i < count; ++i) transport_->send(request, {}, answers.take());
    ASSERT_TRUE(answers.wait_for_count(static_cast<size_t>(count)));
    for (const Code code : answers.codes()) ASSERT_EQ(code, Code::kOk);
    EXPECT_EQ(answers.last()->body.size(), kBytes);
  }
  std::string object() { return write_objects({{"x", std::string(kBytes, 'x')}}) + "x"; }

  static constexpr size_t kBytes = 200'000;
  const std::shared_ptr<const HttpConnectionOptions> connection_ =
      parse_http_options({{"ca_file", variable("FOREBAY_TEST_CA")}, {"timeout_s", "120"}, {"connect_timeout_s", "120"}})
          .value()
          .connection;
  const std::shared_ptr<HttpTransport> transport_ = curl_transport();
};

TEST_F(Connections, ManyRequestsOverHttp2ShareOne) {
  const std::string path = object();
  for (int round = 0; round < 3; ++round) ask("FOREBAY_TEST_HTTPS_128_STREAMS", path, 64);
  EXPECT_EQ(connections_to("FOREBAY_TEST_HTTPS_128_STREAMS", path), 1u);
}

TEST_F(Connections, AreAsManyAsTheServersLimitOfStreamsMakesNecessary) {
  const std::string path = object();
  for (int round = 0; round < 3; ++round) ask("FOREBAY_TEST_HTTPS_10_STREAMS", path, 64);
  const size_t connections = connections_to("FOREBAY_TEST_HTTPS_10_STREAMS", path);
  EXPECT_LE(connections, 7u);
  EXPECT_GT(connections, 1u) << "requests would wait for others";
}

TEST_F(Connections, OfHttp1AreOneForEachRequest) {
  const std::string path = object();
  ask("FOREBAY_TEST_HTTPS_1_STREAM", path, 64);
  // Who comes first may be through before the last one begins.
  EXPECT_GT(connections_to("FOREBAY_TEST_HTTPS_1_STREAM", path), 32u);
}

}  // namespace
}  // namespace forebay::conformance
