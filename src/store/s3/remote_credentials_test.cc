#include "store/s3/remote_credentials.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/s3/s3_test_support.h"

namespace forebay {
namespace {

constexpr const char* kGiven = R"({"AccessKeyId": "id", "SecretAccessKey": "hidden", "Token": "hidden too",
                                   "Expiration": "2100-01-01T00:00:00Z"})";

class RemoteCredentials : public testing::Test {
 protected:
  Result<Credentials> asked() {
    const auto source = remote_credentials(environment_.get(), server_, "everywhere", "the way out");
    if (!source.ok()) return source.status();
    std::optional<Result<Credentials>> result;
    (*source)->get([&](Result<Credentials> keys) { result.emplace(std::move(keys)); });
    return result ? *result : Result<Credentials>(internal_error("no answer"));
  }
  std::string message() {
    const auto result = asked();
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(result.status().message().find("hidden"), std::string::npos) << result.status().message();
    return result.status().message();
  }

  FakeEnvironment environment_;
  std::function<Result<HttpResponse>(const HttpRequest&)> serve_ = [](const HttpRequest&) -> Result<HttpResponse> {
    return answer(200, kGiven);
  };
  std::shared_ptr<FakeServer> server_ =
      std::make_shared<FakeServer>([this](const HttpRequest& request) { return serve_(request); });
};

TEST_F(RemoteCredentials, of_a_container_are_asked_for_where_it_says_with_its_token) {
  environment_.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/credentials/x";
  environment_.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/token";
  environment_.files["/token"] = "hidden token\r\n";
  const auto keys = asked();
  ASSERT_TRUE(keys.ok()) << keys.status().to_string();
  EXPECT_EQ(keys->access_key_id, "id");
  EXPECT_TRUE(keys->expires);
  ASSERT_EQ(server_->requests.size(), 1u);
  EXPECT_EQ(server_->requests[0].url, "http://169.254.170.2/v2/credentials/x");
  EXPECT_EQ(header_of(server_->requests[0], "authorization"), "hidden token");
  EXPECT_TRUE(server_->requests[0].connection->direct) << "no proxy hears them";
}

// The token and the keys would be readable on the network; only this host and its link are close
// enough.
TEST_F(RemoteCredentials, of_a_container_come_unprotected_from_this_host_alone) {
  for (const char* url :
       {"http://localhost/x", "http://127.0.0.1:8080/x", "http://127.1.2.3/x", "http://[::1]:80/x",
        "http://169.254.170.2/x", "http://169.254.170.23/x", "http://[fd00:ec2::23]/x", "https://far.example/x"}) {
    environment_.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    EXPECT_TRUE(asked().ok()) << url;
    EXPECT_EQ(server_->requests.back().url, url);
  }
  server_->requests.clear();
  for (const char* url :
       {"http://far.example/x", "http://localhost.far.example/x", "http://127.0.0.1.far.example/x",
        "http://127.far.example/", "http://localhost:80@far.example/x", "http://localhost@far.example/x",
        "http://127.0.0.1:x@far.example", "http://[::1]:80@far.example/x", "http://127.0.0.256/x", "http://127.0.1/x",
        "http://far.example#@localhost/", "http://far.example?@localhost/", "ftp://localhost/x", "localhost/x",
        "http://", "http:///x"}) {
    environment_.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    EXPECT_NE(message().find("credentials do not travel unprotected"), std::string::npos) << url;
  }
  EXPECT_TRUE(server_->requests.empty()) << "nothing was sent";
}

TEST_F(RemoteCredentials, of_a_container_with_a_token_of_several_lines_are_not_asked_for) {
  environment_.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://localhost/x";
  environment_.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "hidden\r\nInjected: header";
  EXPECT_NE(message().find("several lines"), std::string::npos);
  environment_.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/none";
  EXPECT_FALSE(asked().ok()) << "the file is named and missing";
  EXPECT_TRUE(server_->requests.empty());
}

TEST_F(RemoteCredentials, of_a_container_that_does_not_give_any_name_the_variable_to_look_at) {
  environment_.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://localhost/x";
  serve_ = [](const HttpRequest&) { return answer(403, "hidden"); };
  EXPECT_NE(message().find("AWS_CONTAINER_CREDENTIALS_*) does not give any: HTTP 403"), std::string::npos);
}

TEST_F(RemoteCredentials, of_an_instance_take_a_token_a_role_and_then_its_keys) {
  serve_ = [](const HttpRequest& request) -> Result<HttpResponse> {
    if (request.method == "PUT") return answer(200, "imds-token");
    EXPECT_EQ(header_of(request, "x-amz-ec2-metadata-token"), "");
    EXPECT_EQ(header_of(request, "x-aws-ec2-metadata-token"), "imds-token");
    if (request.url.ends_with("security-credentials/")) return answer(200, "my-role\r\nother\n");
    EXPECT_TRUE(request.url.ends_with("security-credentials/my-role")) << request.url;
    return answer(200, kGiven);
  };
  environment_.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://elsewhere//";
  EXPECT_TRUE(asked().ok());
  ASSERT_EQ(server_->requests.size(), 3u);
  for (const HttpRequest& request : server_->requests)
    EXPECT_TRUE(request.url.starts_with("http://elsewhere/latest/")) << request.url;
}

TEST_F(RemoteCredentials, of_a_host_that_is_no_instance_are_asked_for_twice_and_then_told_where_else) {
  serve_ = [](const HttpRequest&) -> Result<HttpResponse> { return unavailable("no route"); };
  const std::string text = message();
  EXPECT_EQ(server_->requests.size(), 2u);
  for (const char* part : {"looked everywhere", "does not answer", "the way out"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(RemoteCredentials, of_an_instance_without_a_role_are_none) {
  serve_ = [](const HttpRequest& request) -> Result<HttpResponse> {
    return request.method == "PUT" ? answer(200, "t") : answer(404);
  };
  EXPECT_NE(message().find("the instance has no role"), std::string::npos);
}

TEST_F(RemoteCredentials, of_an_instance_are_left_alone_where_that_is_switched_off) {
  for (const char* text : {"true", "TRUE", "True"}) {
    environment_.variables["AWS_EC2_METADATA_DISABLED"] = text;
    EXPECT_NE(message().find("AWS_EC2_METADATA_DISABLED"), std::string::npos);
  }
  EXPECT_TRUE(server_->requests.empty());
}

TEST(CredentialsJson, needs_both_keys_and_takes_what_else_there_is) {
  const Credentials least = parse_credentials_json(R"({"AccessKeyId": "a", "SecretAccessKey": "b"})").value();
  EXPECT_EQ(least.session_token, "");
  EXPECT_FALSE(least.expires);
  EXPECT_FALSE(least.anonymous());
  const Credentials odd =
      parse_credentials_json(R"({"AccessKeyId": "a", "SecretAccessKey": "b", "Token": 5, "Expiration": "soon"})")
          .value();
  EXPECT_EQ(odd.session_token, "");
  EXPECT_FALSE(odd.expires);
}

}  // namespace
}  // namespace forebay
