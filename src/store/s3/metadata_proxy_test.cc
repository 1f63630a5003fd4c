// Credentials of instances and containers are requested on this host or link, and a proxy must
// never see them.
#include <cstdlib>

#include <gtest/gtest.h>

#include "store/conformance.h"
#include "store/http/curl_transport.h"
#include "store/http/test_server.h"
#include "store/s3/credentials_chain.h"
#include "store/s3/s3_test_support.h"

namespace forebay {
namespace {

constexpr const char* kKeys = R"({"AccessKeyId": "near", "SecretAccessKey": "s", "Token": "t"})";
constexpr std::array<const char*, 6> kProxyVariables = {"http_proxy",  "HTTP_PROXY", "https_proxy",
                                                        "HTTPS_PROXY", "all_proxy",  "ALL_PROXY"};

/// Uses real connections, while every setting that can name a proxy names one that counts its
/// connections.
class BesideAProxy : public testing::Test {
 protected:
  BesideAProxy() {
    for (const char* name : kProxyVariables) ::setenv(name, proxy_.url("").c_str(), 1);
  }
  ~BesideAProxy() override {
    for (const char* name : kProxyVariables) ::unsetenv(name);
  }

  std::string found() {
    const auto options = parse_s3_options("bucket", {{"proxy", proxy_.url("")}}, environment_.get());
    if (!options.ok()) return options.status().to_string();
    const auto source = find_credentials(*options, environment_.get(), transport_);
    if (!source.ok()) return source.status().to_string();
    conformance::Answers<Credentials> answers;
    (*source)->get(answers.take());
    EXPECT_TRUE(answers.wait_for_count(1));
    return answers.last().ok() ? answers.last()->access_key_id : answers.last().status().to_string();
  }

  static TestServer::Reply serve(const TestServer::Request& request) {
    if (request.method == "PUT") return {TestServer::ok("token")};
    if (request.target.ends_with("security-credentials/")) return {TestServer::ok("role")};
    return {TestServer::ok(kKeys)};
  }

  TestServer proxy_{[](const TestServer::Request&) { return TestServer::Reply{TestServer::status(502)}; }};
  TestServer service_{serve};
  FakeEnvironment environment_;
  const std::shared_ptr<HttpTransport> transport_ = curl_transport();
};

TEST_F(BesideAProxy, TheInstancesServiceIsAskedDirectly) {
  environment_.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = service_.url("");
  EXPECT_EQ(found(), "near");
  EXPECT_EQ(service_.requests(), 3) << "a token, the role, its credentials";
  EXPECT_EQ(proxy_.connections(), 0);
}

TEST_F(BesideAProxy, TheContainersServiceIsAskedDirectly) {
  environment_.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = service_.url("/container");
  EXPECT_EQ(found(), "near");
  EXPECT_EQ(service_.requests(), 1);
  EXPECT_EQ(proxy_.connections(), 0);
}

/// Addresses at which no test can listen.
class WellKnownAddresses : public testing::Test {
 protected:
  void expect_direct(const FakeEnvironment& environment, const std::string& address) {
    FakeServer server([](const HttpRequest&) -> Result<HttpResponse> { return answer(200, kKeys); });
    const auto options = parse_s3_options("bucket", {{"proxy", "http://proxy:1"}}, environment.get());
    const auto transport = std::shared_ptr<HttpTransport>(std::shared_ptr<void>(), &server);
    const auto source = find_credentials(options.value(), environment.get(), transport);
    ASSERT_TRUE(source.ok()) << source.status().to_string();
    (*source)->get([](const Result<Credentials>& keys) { EXPECT_TRUE(keys.ok()) << keys.status().to_string(); });
    ASSERT_FALSE(server.requests.empty());
    for (const HttpRequest& request : server.requests) {
      EXPECT_TRUE(request.url.starts_with(address)) << request.url;
      EXPECT_TRUE(request.connection && request.connection->direct) << request.url;
    }
  }
};

TEST_F(WellKnownAddresses, OfInstancesAndContainersAreAskedDirectly) {
  expect_direct({}, "http://169.254.169.254/");
  FakeEnvironment ecs, eks;
  ecs.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/credentials/x";
  expect_direct(ecs, "http://169.254.170.2/v2/");
  eks.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://169.254.170.23/v1/credentials";
  expect_direct(eks, "http://169.254.170.23/v1/");
}

}  // namespace
}  // namespace forebay
