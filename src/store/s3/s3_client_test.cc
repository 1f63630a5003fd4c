#include "store/s3/s3_client.h"

#include <gtest/gtest.h>

#include "store/s3/s3_address.h"
#include "store/s3/s3_test_support.h"

namespace forebay {
namespace {

using namespace std::chrono;

const WallTime kNow = sys_days(2026y / January / 2) + 3h;

S3Options bucket_options(std::string bucket = "bucket", std::string endpoint = "http://host:9000") {
  S3Options options;
  options.bucket = std::move(bucket);
  options.endpoint = std::move(endpoint);
  return options;
}

class S3ClientTest : public testing::Test {
 protected:
  Result<HttpResponse> ask(FakeServer::Serve serve, S3Options options = bucket_options(),
                           S3Request request = {.key = "k"}) {
    server_ = std::make_shared<FakeServer>(std::move(serve));
    const auto client =
        std::make_shared<S3Client>(std::move(options), server_, credentials_, nullptr, [] { return kNow; });
    Result<HttpResponse> response = client->send_wait(request, {});
    // The client remembers what it has learned.
    if (response.ok()) response = client->send_wait(std::move(request), {});
    return response;
  }
  std::string message(FakeServer::Serve serve, S3Request request = {.key = "k"}) {
    const auto response = ask(std::move(serve), bucket_options(), std::move(request));
    return response.ok() ? "ok" : response.status().to_string();
  }
  std::string url(size_t i) const { return server_->requests.at(i).url; }
  std::string scope(size_t i) const { return header_of(server_->requests.at(i), "authorization"); }

  std::shared_ptr<CredentialsSource> credentials_ = fixed_credentials({"ID", "SECRET-VALUE", "TOKEN-VALUE", {}});
  std::shared_ptr<FakeServer> server_;
};

TEST_F(S3ClientTest, TheBucketStandsInThePathOrInTheHost) {
  const auto address_of = [](S3Options options, std::string_view key) {
    const S3Address address = s3_address(options, "eu-west-1", key);
    return address.origin + address.path;
  };
  EXPECT_EQ(address_of(bucket_options(), "a b/c+d"), "http://host:9000/bucket/a%20b/c%2Bd");
  EXPECT_EQ(address_of(bucket_options("bucket", ""), "k"), "https://bucket.s3.eu-west-1.amazonaws.com/k");
  EXPECT_EQ(address_of(bucket_options("my.bucket", ""), "k"), "https://s3.eu-west-1.amazonaws.com/my.bucket/k");
  EXPECT_EQ(address_of(bucket_options("bucket", "https://s3.us-west-2.amazonaws.com"), "/k//x"),
            "https://bucket.s3.us-west-2.amazonaws.com//k//x");
  S3Options styled = bucket_options();
  styled.addressing = S3Options::Addressing::kVirtual;
  EXPECT_EQ(address_of(styled, ""), "http://bucket.host:9000/");
  EXPECT_EQ(s3_address(bucket_options("bucket", "https://host:443"), "", "").host, "host");
  EXPECT_EQ(s3_address(bucket_options("bucket", "http://host:443"), "", "").host, "host:443");
}

TEST_F(S3ClientTest, TheRegionIsLearnedOnceAndKept) {
  for (const int status : {301, 307, 400}) {
    int refused = 0;
    const auto response = ask(
        [&](const HttpRequest& request) -> Result<HttpResponse> {
          if (header_of(request, "authorization").find("/eu-central-1/s3/") != std::string::npos) return answer(200);
          ++refused;
          if (status == 400) return s3_error(400, "AuthorizationHeaderMalformed", "<Region>eu-central-1</Region>");
          return s3_error(status, "PermanentRedirect", "", {{"x-amz-bucket-region", "eu-central-1"}});
        },
        bucket_options("bucket", ""));
    EXPECT_TRUE(response.ok()) << response.status().to_string();
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(url(0), "https://bucket.s3.us-east-1.amazonaws.com/k");
    EXPECT_EQ(url(2), "https://bucket.s3.eu-central-1.amazonaws.com/k");
  }
}

TEST_F(S3ClientTest, ARegionThatLeadsNowhereIsAnErrorAndNotACircle) {
  const std::string error_text = message([](const HttpRequest&) -> Result<HttpResponse> {
    static int count = 0;
    return s3_error(301, "PermanentRedirect", "<Endpoint>else.example</Endpoint>",
                    {{"x-amz-bucket-region", ++count % 2 == 0 ? "a" : "b"}});
  });
  EXPECT_NE(error_text.find("lies in the region"), std::string::npos) << error_text;
  EXPECT_EQ(server_->requests.size(), 2u);
  const std::string nowhere = message(
      [](const HttpRequest&) { return s3_error(301, "PermanentRedirect", "<Endpoint>else.example</Endpoint>"); });
  EXPECT_NE(nowhere.find("else.example"), std::string::npos) << nowhere;
}

TEST_F(S3ClientTest, AWrongClockIsPutRightByTheServersAndThenKept) {
  const auto serve = [](const HttpRequest& request) -> Result<HttpResponse> {
    if (header_of(request, "x-amz-date").starts_with("20260105T0")) return answer(200);
    return s3_error(403, "RequestTimeTooSkewed", "", {{"date", "Mon, 05 Jan 2026 03:00:00 GMT"}});
  };
  EXPECT_TRUE(ask(serve).ok());
  EXPECT_EQ(server_->requests.size(), 3u) << "refused once, then right at once";
}

TEST_F(S3ClientTest, AClockThatStaysWrongIsToldWithBothTimes) {
  const std::string error_text = message([](const HttpRequest&) {
    return s3_error(403, "RequestTimeTooSkewed", "", {{"date", "Mon, 05 Jan 2026 03:00:00 GMT"}});
  });
  EXPECT_NE(error_text.find("2026-01-02 03:00:00 UTC"), std::string::npos) << error_text;
  EXPECT_NE(error_text.find("2026-01-05 03:00:00 UTC"), std::string::npos) << error_text;
  EXPECT_EQ(server_->requests.size(), 2u);
}

TEST_F(S3ClientTest, ExpiredCredentialsAreFetchedAgainOnce) {
  class Renewing final : public CredentialsSource {
   public:
    void get(Done done) override { done(Credentials{"ID", "S", "token" + std::to_string(refused), {}}); }
    void refuse(const Credentials&) override { ++refused; }
    int refused = 0;
  };
  const auto renewing = std::make_shared<Renewing>();
  credentials_ = renewing;
  EXPECT_TRUE(ask([](const HttpRequest& request) -> Result<HttpResponse> {
                if (header_of(request, "x-amz-security-token") == "token1") return answer(200);
                return s3_error(400, "ExpiredToken");
              }).ok());
  EXPECT_EQ(renewing->refused, 1);
  const std::string error_text = message([](const HttpRequest&) { return s3_error(400, "ExpiredToken"); });
  EXPECT_NE(error_text.find("expired"), std::string::npos) << error_text;
}

TEST_F(S3ClientTest, ErrorsSayWhatIsWrongAndTheWayOut) {
  const auto error_text = [&](int status, const std::string& code, S3Request request = {.key = "k"}) {
    return message([&](const HttpRequest&) { return s3_error(status, code); }, std::move(request));
  };
  const auto has = [](const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text.find("SECRET-VALUE"), std::string::npos);
    EXPECT_EQ(text.find("TOKEN-VALUE"), std::string::npos);
  };
  has(error_text(404, "NoSuchKey"), "NotFound: no such object");
  has(error_text(404, "NoSuchBucket"), "there is no bucket 'bucket' at http://host:9000");
  has(error_text(403, "SignatureDoesNotMatch"), "secret access key");
  has(error_text(403, "InvalidAccessKeyId"), "access key id");
  has(error_text(403, "AccessDenied"), "may not read it");
  has(error_text(403, "AccessDenied", {}), "s3:ListBucket");
  has(error_text(400, "InvalidBucketName"), "cannot be the name of a bucket");
  has(error_text(400, "InvalidArgument"), "HTTP 400 InvalidArgument");
  has(error_text(416, "InvalidRange"), "Corrupt: shorter than expected");
  has(error_text(503, "SlowDown"), "Unavailable");
  has(error_text(400, "RequestTimeout"), "Unavailable");
  has(message([](const HttpRequest&) { return answer(200 + 205, "<html>no</html>"); }), "check the endpoint");
  has(message([](const HttpRequest&) { return answer(404); }, {.method = "HEAD", .key = "k"}),
      "NotFound: no such object");
  credentials_ = fixed_credentials({});
  has(error_text(403, "AccessDenied"), "without credentials");
  EXPECT_EQ(header_of(server_->requests[0], "authorization"), "") << "anonymous requests are not signed";
}

TEST_F(S3ClientTest, AnErrorInTheBodyOfASuccessIsAnErrorWhereSomethingWasWritten) {
  const auto serve = [](const HttpRequest&) { return s3_error(200, "InternalError"); };
  EXPECT_NE(message(serve, {.method = "POST", .key = "k"}).find("Unavailable"), std::string::npos);
  EXPECT_EQ(message(serve), "ok") << "an object may well hold such a text";
}

TEST(BucketNames, AreCheckedBeforeAnythingIsSent) {
  for (const char* good : {"abc", "a.b-c", "my_old_Bucket", "123"}) EXPECT_TRUE(check_bucket_name(good).ok()) << good;
  for (const char* bad : {"", "ab", "a b c", "-abc", "abc.", "a..b", "user:pass@host", "abc?x"}) {
    EXPECT_EQ(check_bucket_name(bad).code(), Code::kInvalidArgument) << bad;
  }
  EXPECT_EQ(check_bucket_name("ID:SECRET@bucket").message().find("SECRET"), std::string::npos);
}

}  // namespace
}  // namespace forebay
