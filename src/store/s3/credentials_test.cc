#include <gtest/gtest.h>

#include "store/s3/credentials_chain.h"
#include "store/s3/refreshed_credentials.h"
#include "store/s3/remote_credentials.h"
#include "store/s3/s3_test_support.h"

namespace forebay {
namespace {

using namespace std::chrono_literals;

constexpr const char* kFile = "/home/me/.aws/credentials";
constexpr const char* kConfig = "/home/me/.aws/config";

class CredentialsTest : public testing::Test {
 protected:
  /// Returns "id secret token" of the credentials, or the error.
  std::string found(std::map<std::string, std::string> options = {}) {
    const auto parsed = parse_s3_options("bucket", options, environment_.get());
    if (!parsed.ok()) return parsed.status().to_string();
    const auto source = find_credentials(*parsed, environment_.get(), server_);
    if (!source.ok()) return source.status().to_string();
    std::string text = "no answer";
    (*source)->get([&](Result<Credentials> keys) {
      text = keys.ok() ? keys->access_key_id + " " + keys->secret_access_key + " " + keys->session_token
                       : keys.status().to_string();
    });
    return text;
  }
  void expect_error(const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text.find("hidden"), std::string::npos) << text;
  }

  FakeEnvironment environment_;
  std::function<Result<HttpResponse>(const HttpRequest&)> serve_ = [](const HttpRequest&) -> Result<HttpResponse> {
    return unavailable("nobody there");
  };
  std::shared_ptr<FakeServer> server_ =
      std::make_shared<FakeServer>([this](const HttpRequest& r) { return serve_(r); });
};

TEST_F(CredentialsTest, TheNearestIsTaken) {
  serve_ = [](const HttpRequest& request) -> Result<HttpResponse> {
    if (request.method == "PUT") return answer(200, "imds");
    if (request.url.ends_with("security-credentials/")) return answer(200, "role\n");
    EXPECT_EQ(header_of(request, "x-aws-ec2-metadata-token"), "imds");
    return answer(200, R"({"AccessKeyId": "instance", "SecretAccessKey": "s", "Token": "t"})");
  };
  EXPECT_EQ(found(), "instance s t");
  environment_.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:1/c";
  environment_.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "Bearer x";
  serve_ = [](const HttpRequest& request) -> Result<HttpResponse> {
    EXPECT_EQ(header_of(request, "authorization"), "Bearer x");
    return answer(200, R"({"AccessKeyId": "container", "SecretAccessKey": "s", "Token": "t"})");
  };
  EXPECT_EQ(found(), "container s t");
  environment_.files[kConfig] = "[default]\naws_access_key_id = config\naws_secret_access_key = s\n";
  EXPECT_EQ(found(), "config s ");
  environment_.files[kFile] =
      "[default]\naws_access_key_id=file\naws_secret_access_key=s\naws_session_token=t\n"
      "[other]\naws_access_key_id = other # mine\naws_secret_access_key = o\n";
  EXPECT_EQ(found(), "file s t");
  environment_.variables["AWS_PROFILE"] = "other";
  EXPECT_EQ(found(), "other o ");
  environment_.variables["AWS_ACCESS_KEY_ID"] = "env";
  environment_.variables["AWS_SECRET_ACCESS_KEY"] = "s";
  environment_.variables["AWS_SESSION_TOKEN"] = "t";
  EXPECT_EQ(found(), "env s t");
  EXPECT_EQ(found({{"profile", "default"}}), "file s t") << "a profile in so many words comes before the environment";
  EXPECT_EQ(found({{"access_key_id", "arg"}, {"secret_access_key", "s"}}), "arg s ");
  EXPECT_EQ(found({{"anonymous", "true"}}), "  ");
}

TEST_F(CredentialsTest, WhereNoneAreFoundIsToldWhereTheyWereLookedFor) {
  const std::string nothing = found();
  expect_error(nothing, "no credentials found");
  expect_error(nothing, kFile);
  expect_error(nothing, "anonymous=true");
  environment_.variables["AWS_EC2_METADATA_DISABLED"] = "true";
  server_->requests.clear();
  expect_error(found(), "AWS_EC2_METADATA_DISABLED");
  EXPECT_TRUE(server_->requests.empty());
}

TEST_F(CredentialsTest, HalfOfAPairIsAMistake) {
  expect_error(found({{"access_key_id", "id"}}), "secret_access_key");
  expect_error(found({{"secret_access_key", "hidden"}}), "access_key_id");
  expect_error(found({{"session_token", "hidden"}}), "session_token");
  expect_error(found({{"anonymous", "true"}, {"profile", "x"}}), "at once");
  environment_.variables["AWS_SECRET_ACCESS_KEY"] = "hidden";
  expect_error(found(), "AWS_ACCESS_KEY_ID");
}

TEST_F(CredentialsTest, WaysThatAreNotFollowedAreRefusedWithAWayOut) {
  const auto with_config = [&](const std::string& setting) {
    environment_.files[kConfig] = "[profile p]\n" + setting + "\n";
    return found({{"profile", "p"}});
  };
  expect_error(with_config("role_arn = arn:x\nsource_profile = default"), "export-credentials");
  expect_error(with_config("credential_process = /bin/echo hidden"), "a program");
  expect_error(with_config("sso_session = corp"), "single sign-on");
  expect_error(with_config("region = eu-west-1"), "has no credentials");
  expect_error(found({{"profile", "q"}}), "there is no profile 'q'");
  environment_.variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/token";
  expect_error(found(), "web identity");
  environment_.variables.erase("AWS_WEB_IDENTITY_TOKEN_FILE");
  environment_.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://far.example/c";
  expect_error(found(), "unprotected");
}

TEST_F(CredentialsTest, AnswersThatAreNoneShowNothingOfThemselves) {
  for (const char* text : {"", "hidden", "[]", "{\"AccessKeyId\": 5}", "{\"AccessKeyId\": \"hidden\"}"}) {
    const auto parsed = parse_credentials_json(text);
    EXPECT_EQ(parsed.status().code(), Code::kCorrupt);
    expect_error(parsed.status().to_string(), "AccessKeyId");
  }
}

TEST_F(CredentialsTest, SettingsComeFromProfilesToo) {
  environment_.files[kConfig] =
      "; comment\n[default]\nregion = eu-west-1\ns3 =\n  addressing_style = virtual\nservices = mine\n"
      "[services mine]\ns3 =\n  endpoint_url = https://store.example\n";
  auto options = parse_s3_options("bucket", {}, environment_.get()).value();
  EXPECT_EQ(options.region, "eu-west-1");
  EXPECT_EQ(options.endpoint, "https://store.example");
  EXPECT_EQ(options.addressing, S3Options::Addressing::kVirtual);
  EXPECT_EQ(options.listing_cache, "/home/me/.cache/forebay/listings");
  environment_.variables["AWS_ENDPOINT_URL"] = "http://general/";
  EXPECT_EQ(parse_s3_options("bucket", {}, environment_.get()).value().endpoint, "http://general");
  environment_.variables["AWS_ENDPOINT_URL_S3"] = "http://special";
  EXPECT_EQ(parse_s3_options("bucket", {}, environment_.get()).value().endpoint, "http://special");
  EXPECT_EQ(parse_s3_options("bucket", {{"listing_cache", ""}}, environment_.get()).value().listing_cache, "");
  for (const char* endpoint : {"host", "http://u:p@host", "http://host/path", "ftp://host"}) {
    EXPECT_EQ(parse_s3_options("bucket", {{"endpoint", endpoint}}, environment_.get()).status().code(),
              Code::kInvalidArgument)
        << endpoint;
  }
}

/// A service that answers on demand, and a clock that the test advances.
class RefreshTest : public testing::Test {
 protected:
  void get() {
    source_->get([this](Result<Credentials> keys) { got_.push_back(keys.ok() ? keys->access_key_id : "error"); });
  }
  void serve(const std::string& id, std::chrono::seconds valid) {
    auto pending = std::move(pending_.at(0));
    pending_.clear();
    pending(Credentials{id, "s", "t", now_ + valid});
  }
  std::chrono::system_clock::time_point now_{};
  std::vector<CredentialsSource::Done> pending_;
  std::vector<std::string> got_;
  std::unique_ptr<RefreshedCredentials> source_ = std::make_unique<RefreshedCredentials>(
      [this](CredentialsSource::Done done) { pending_.push_back(std::move(done)); }, [this] { return now_; });
};

TEST_F(RefreshTest, OneFetchServesAllWhoWait) {
  for (int i = 0; i < 5; ++i) get();
  EXPECT_EQ(pending_.size(), 1u);
  serve("a", 1h);
  EXPECT_EQ(got_, std::vector<std::string>(5, "a"));
}

TEST_F(RefreshTest, NewOnesAreFetchedWhileTheOldStillServe) {
  get();
  serve("a", 1h);
  now_ += 55min;
  get();
  get();
  EXPECT_EQ(got_, (std::vector<std::string>{"a", "a", "a"})) << "nobody waits";
  ASSERT_EQ(pending_.size(), 1u);
  serve("b", 1h);
  get();
  EXPECT_EQ(got_.back(), "b");
}

TEST_F(RefreshTest, ThoseAboutToExpireAreWaitedFor) {
  get();
  serve("a", 1h);
  now_ += 1h - 10s;
  get();
  EXPECT_EQ(got_.size(), 1u);
  serve("b", 1h);
  EXPECT_EQ(got_.back(), "b");
}

TEST_F(RefreshTest, AFailureInTheBackgroundHarmsNobodyAndIsNotRepeatedAtOnce) {
  get();
  serve("a", 1h);
  now_ += 55min;
  get();
  auto pending = std::move(pending_.at(0));
  pending_.clear();
  pending(unavailable("away"));
  get();
  EXPECT_EQ(got_, (std::vector<std::string>{"a", "a", "a"}));
  EXPECT_TRUE(pending_.empty());
  now_ += RefreshedCredentials::kPause;
  get();
  EXPECT_EQ(pending_.size(), 1u);
}

TEST_F(RefreshTest, RefusedOnesAreNotGivenAgain) {
  get();
  serve("a", 1h);
  source_->refuse(Credentials{"other", "s", "t", {}});
  get();
  EXPECT_EQ(got_.back(), "a");
  source_->refuse(Credentials{"a", "s", "t", now_ + 1h});
  get();
  ASSERT_EQ(pending_.size(), 1u);
  serve("b", 1h);
  EXPECT_EQ(got_.back(), "b");
}

TEST_F(RefreshTest, TheEndAnswersWhoWaits) {
  get();
  source_.reset();
  EXPECT_EQ(got_, std::vector<std::string>{"error"});
  serve("late", 1h);
  EXPECT_EQ(got_.size(), 1u);
}

}  // namespace
}  // namespace forebay
