#include "store/s3/s3_error.h"

#include <gtest/gtest.h>

#include <string>

#include "store/s3/s3_test_support.h"

namespace forebay {
namespace {

S3Options plain_options() {
  S3Options options;
  options.bucket = "bucket";
  options.endpoint = "http://host:9000";
  return options;
}

const S3Options kPlain = plain_options();

S3Verdict judged(const HttpResponse& response, S3RequestInfo asked = {.options = kPlain, .region = "eu-west-1"}) {
  return judge_s3(asked, response);
}
Status status_of(const HttpResponse& response) { return judged(response).status; }

TEST(S3Verdict, of_a_server_that_is_busy_is_to_try_again_whatever_the_status_number) {
  for (const char* code : {"SlowDown", "InternalError", "ServiceUnavailable", "RequestTimeout", "OperationAborted",
                           "RequestThrottled", "Throttling", "TooManyRequests", "RequestLimitExceeded"}) {
    for (const int status : {400, 403, 404, 409, 500, 503})
      EXPECT_EQ(status_of(s3_error(status, code)).code(), Code::kUnavailable) << code << " " << status;
  }
  for (const int status : {408, 429, 500, 502, 503, 504, 599})
    EXPECT_EQ(status_of(answer(status)).code(), Code::kUnavailable) << status;
}

// For example, a server without multipart uploads: a retry would not change that.
TEST(S3Verdict, of_what_a_server_does_not_implement_is_final_and_told_at_once) {
  const Status status = status_of(s3_error(501, "NotImplemented"));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("HTTP 501 NotImplemented"), std::string::npos) << status.message();
  EXPECT_EQ(status_of(answer(505)).code(), Code::kInvalidArgument);
}

TEST(S3Verdict, of_another_region_names_it_where_it_stands_in_header_or_body) {
  const HttpResponse with_header = s3_error(301, "PermanentRedirect", "", {{"x-amz-bucket-region", "us-east-1"}});
  const HttpResponse with_body = s3_error(400, "AuthorizationHeaderMalformed", "<Region>us-east-1</Region>");
  for (const HttpResponse& response : {with_header, with_body}) {
    const S3Verdict verdict = judged(response);
    EXPECT_EQ(verdict.remedy, S3Remedy::kRegion);
    EXPECT_EQ(verdict.region, "us-east-1");
    EXPECT_NE(verdict.status.message().find("'us-east-1', and was asked for in 'eu-west-1'"), std::string::npos);
  }
  const S3Verdict head = judged(answer(400, "", {{"x-amz-bucket-region", "us-east-1"}}),
                                {.options = kPlain, .region = "eu-west-1", .without_body = true});
  EXPECT_EQ(head.remedy, S3Remedy::kRegion) << "a HEAD has no body that could say so";
}

TEST(S3Verdict, of_a_head_refused_in_the_right_region_does_not_send_elsewhere) {
  const S3Verdict verdict = judged(answer(400, "", {{"x-amz-bucket-region", "eu-west-1"}}),
                                   {.options = kPlain, .region = "eu-west-1", .without_body = true});
  EXPECT_EQ(verdict.status.code(), Code::kInvalidArgument);
  EXPECT_EQ(verdict.remedy, S3Remedy::kNone);
  EXPECT_NE(verdict.status.message().find("without saying why"), std::string::npos) << verdict.status.message();
}

TEST(S3Verdict, of_a_redirect_to_the_region_that_was_asked_is_no_circle) {
  const S3Verdict verdict = judged(
      s3_error(301, "PermanentRedirect", "<Endpoint>else.example</Endpoint>", {{"x-amz-bucket-region", "eu-west-1"}}));
  EXPECT_EQ(verdict.remedy, S3Remedy::kNone);
  EXPECT_EQ(verdict.status.code(), Code::kInvalidArgument);
  EXPECT_NE(verdict.status.message().find("(it names else.example)"), std::string::npos) << verdict.status.message();
}

TEST(S3Verdict, of_a_clock_or_of_credentials_says_what_can_be_put_right) {
  EXPECT_EQ(judged(s3_error(403, "RequestTimeTooSkewed")).remedy, S3Remedy::kClock);
  for (const char* code : {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired"})
    EXPECT_EQ(judged(s3_error(400, code)).remedy, S3Remedy::kCredentials) << code;
}

TEST(S3Verdict, of_a_missing_object_is_not_that_of_a_missing_bucket) {
  EXPECT_EQ(status_of(s3_error(404, "NoSuchKey")).message(), "no such object");
  EXPECT_NE(status_of(s3_error(404, "NoSuchBucket")).message().find("there is no bucket 'bucket'"), std::string::npos);
  EXPECT_EQ(status_of(s3_error(404, "NoSuchBucket")).key(), "s3://bucket");
  const S3Verdict listing = judged(answer(404), {.options = kPlain, .region = "x", .object = false});
  EXPECT_NE(listing.status.message().find("there is no bucket"), std::string::npos);
  EXPECT_NE(status_of(s3_error(404, "NoSuchUpload")).message().find("multipart"), std::string::npos);
  EXPECT_NE(status_of(s3_error(404, "Odd")).message().find("HTTP 404 Odd"), std::string::npos);
  for (const char* code : {"NoSuchKey", "NoSuchBucket", "NoSuchUpload", "Odd", ""})
    EXPECT_EQ(status_of(s3_error(404, code)).code(), Code::kNotFound) << code;
}

TEST(S3Verdict, of_a_refusal_says_which_part_of_the_credentials_to_look_at) {
  const auto message = [](const char* code) { return status_of(s3_error(403, code)).message(); };
  EXPECT_NE(message("SignatureDoesNotMatch").find("secret_access_key"), std::string::npos);
  EXPECT_NE(message("InvalidAccessKeyId").find("check access_key_id"), std::string::npos);
  EXPECT_NE(message("InvalidToken").find("session_token"), std::string::npos);
  EXPECT_NE(message("AccessDenied").find("may not read it"), std::string::npos);
  S3RequestInfo writing{.options = kPlain, .region = "x", .write = true};
  EXPECT_NE(judged(s3_error(403, "AccessDenied"), writing).status.message().find("may not write it"),
            std::string::npos);
  S3RequestInfo nobody{.options = kPlain, .region = "x", .signed_ = false};
  EXPECT_NE(judged(s3_error(403, "AccessDenied"), nobody).status.message().find("not public"), std::string::npos);
  S3RequestInfo bucket{.options = kPlain, .region = "x", .object = false};
  EXPECT_NE(judged(s3_error(403, "AccessDenied"), bucket).status.message().find("s3:ListBucket"), std::string::npos);
}

TEST(S3Verdict, of_what_a_server_says_is_one_line_of_moderate_length) {
  const std::string message =
      status_of(s3_error(400, "Odd\x01", "<Message>two\nlines\r\n" + std::string(5000, 'x') + "</Message>")).message();
  EXPECT_LT(message.size(), 700u);
  for (const char c : message) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << message;
}

TEST(S3Verdict, of_a_server_that_is_no_s3_says_to_check_the_endpoint) {
  for (const HttpResponse& response : {answer(405, "<html>no</html>"), answer(400, "not found"), answer(418, "{}")})
    EXPECT_NE(status_of(response).message().find("check the endpoint"), std::string::npos);
}

TEST(S3Verdict, of_success_looks_into_the_body_only_where_something_was_written) {
  const HttpResponse late_error = s3_error(200, "InternalError");
  EXPECT_TRUE(status_of(late_error).ok());
  S3RequestInfo writing{.options = kPlain, .region = "x", .write = true};
  EXPECT_EQ(judged(late_error, writing).status.code(), Code::kUnavailable);
  EXPECT_TRUE(judged(answer(200, "<CompleteMultipartUploadResult/>"), writing).status.ok());
  EXPECT_TRUE(judged(answer(204), writing).status.ok());
}

}  // namespace
}  // namespace forebay
