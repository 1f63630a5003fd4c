#include "store/s3/s3_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "store/http/amz_checksum.h"
#include "store/http/curl_transport.h"
#include "store/http/retrying_caller.h"
#include "store/http/test_server.h"
#include "store/s3/s3_test_support.h"

namespace forebay {
namespace {

S3Options options_at(std::string endpoint, bool checksums) {
  S3Options options;
  options.bucket = "bucket";
  options.endpoint = std::move(endpoint);
  options.write_checksums = checksums;
  return options;
}

const std::string kBegun = "<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>";

class S3WriterTest : public testing::Test {
 protected:
  S3Writer writer(bool checksums = false) {
    auto client = std::make_shared<S3Client>(options_at("http://host", checksums), server_,
                                             fixed_credentials({"ID", "SECRET", "", {}}));
    return S3Writer(std::move(client), {.part_bytes = 4, .parts_at_once = 2});
  }
  // Acts on uploads as a server does; `special` goes first.
  Result<HttpResponse> serve(const HttpRequest& request) {
    if (special_)
      if (auto answered = special_(request)) return std::move(*answered);
    if (request.url.find("uploads") != std::string::npos && request.method == "POST") return answer(200, kBegun);
    return answer(200, "", {{"etag", "\"e\""}});
  }
  static bool has(const HttpRequest& request, std::string_view part) {
    return request.url.find(part) != std::string::npos;
  }
  size_t count(std::string_view method, std::string_view part) const {
    return static_cast<size_t>(std::ranges::count_if(
        server_->requests, [&](const HttpRequest& request) { return request.method == method && has(request, part); }));
  }

  std::function<std::optional<Result<HttpResponse>>(const HttpRequest&)> special_;
  std::shared_ptr<FakeServer> server_ =
      std::make_shared<FakeServer>([this](const HttpRequest& request) { return serve(request); });
};

TEST_F(S3WriterTest, SmallObjectsAreOneRequestAndLargeOnesGoInParts) {
  EXPECT_TRUE(writer().put("k", test_buffer("1234"), {}).ok());
  EXPECT_EQ(server_->requests.size(), 1u);
  server_->requests.clear();
  EXPECT_TRUE(writer().put("k", test_buffer("123456789"), {}).ok());
  ASSERT_EQ(server_->requests.size(), 5u);
  EXPECT_EQ(count("PUT", "partNumber="), 3u);
  const std::string completed(text_view(server_->requests.back().body));
  EXPECT_NE(completed.find("<Part><PartNumber>3</PartNumber><ETag>\"e\"</ETag></Part>"), std::string::npos);
}

TEST_F(S3WriterTest, ChecksumsGoAlongWhereTheyAreKept) {
  const Buffer bytes = test_buffer("123456789");
  EXPECT_TRUE(writer(true).put("k", bytes, {}).ok());
  EXPECT_EQ(header_of(server_->requests.front(), "x-amz-checksum-algorithm"), "CRC64NVME");
  EXPECT_EQ(header_of(server_->requests.front(), "x-amz-checksum-type"), "FULL_OBJECT");
  EXPECT_EQ(header_of(server_->requests[1], "x-amz-checksum-crc64nvme"), amz_crc64nvme(bytes.span().first(4)));
  EXPECT_EQ(header_of(server_->requests.back(), "x-amz-checksum-crc64nvme"), amz_crc64nvme(bytes.span()));
  EXPECT_TRUE(writer(true).put("k", test_buffer("1"), {}).ok());
  EXPECT_NE(header_of(server_->requests.back(), "x-amz-checksum-crc64nvme"), "");
  server_->requests.clear();
  EXPECT_TRUE(writer(false).put("k", bytes, {}).ok());
  for (const HttpRequest& request : server_->requests) EXPECT_EQ(header_of(request, "x-amz-checksum-crc64nvme"), "");
}

TEST_F(S3WriterTest, BytesThatDidNotArriveAreSentAgain) {
  for (const char* code : {"BadDigest", "XAmzContentSHA256Mismatch", "IncompleteBody", "ConditionalRequestConflict"}) {
    int refused = 0;
    special_ = [&](const HttpRequest& request) -> std::optional<Result<HttpResponse>> {
      if (request.method != "PUT" || refused++ > 0) return std::nullopt;
      return s3_error(400, code);
    };
    EXPECT_TRUE(writer().put("k", test_buffer("123"), {}).ok()) << code;
    EXPECT_EQ(refused, 2) << code;
  }
}

TEST_F(S3WriterTest, AnUploadThatFailedIsGivenUp) {
  special_ = [&](const HttpRequest& request) -> std::optional<Result<HttpResponse>> {
    if (has(request, "partNumber=2")) return s3_error(403, "AccessDenied");
    return std::nullopt;
  };
  const Status put = writer().put("k", test_buffer("123456789"), {});
  EXPECT_EQ(put.code(), Code::kInvalidArgument);
  EXPECT_EQ(put.key(), "s3://bucket/k");
  EXPECT_EQ(server_->requests.back().method, "DELETE");
  EXPECT_TRUE(has(server_->requests.back(), "?uploadId=u1"));
}

TEST_F(S3WriterTest, AnUploadThatSomebodyTookAwayIsMadeAgain) {
  int taken = 0, limit = 1;
  special_ = [&](const HttpRequest& request) -> std::optional<Result<HttpResponse>> {
    if (request.method == "HEAD") return answer(404);
    if (!has(request, "partNumber=2") || taken >= limit) return std::nullopt;
    ++taken;
    return s3_error(404, "NoSuchUpload");
  };
  EXPECT_TRUE(writer().put("k", test_buffer("123456789"), {}).ok());
  EXPECT_EQ(count("POST", "?uploads"), 2u);
  limit = 100;
  EXPECT_EQ(writer().put("k", test_buffer("123456789"), {}).code(), Code::kUnavailable) << "not for ever";
}

TEST_F(S3WriterTest, ACompletionWhoseAnswerWasLostIsFoundOut) {
  std::string hash;
  special_ = [&](const HttpRequest& request) -> std::optional<Result<HttpResponse>> {
    if (has(request, "?uploads")) hash = header_of(request, "x-amz-meta-forebay-xxh3");
    if (request.method == "HEAD") return answer(200, "", {{"x-amz-meta-forebay-xxh3", hash}, {"content-length", "9"}});
    if (request.method == "POST" && has(request, "uploadId=")) return s3_error(404, "NoSuchUpload");
    return std::nullopt;
  };
  EXPECT_TRUE(writer().put("k", test_buffer("123456789"), {}).ok());
  EXPECT_EQ(count("POST", "?uploads"), 1u) << "it is there";
  EXPECT_EQ(hash.size(), 32u);
}

TEST_F(S3WriterTest, TheConditionIsAskedForAndDoneWithoutWhereItIsUnknown) {
  EXPECT_TRUE(writer().put_new("k", test_buffer("1"), {}).value());
  EXPECT_EQ(header_of(server_->requests.back(), "if-none-match"), "*");
  special_ = [](const HttpRequest&) {
    return std::optional<Result<HttpResponse>>(s3_error(412, "PreconditionFailed"));
  };
  EXPECT_FALSE(writer().put_new("k", test_buffer("1"), {}).value());
  special_ = [](const HttpRequest& request) -> std::optional<Result<HttpResponse>> {
    if (!header_of(request, "if-none-match").empty()) return s3_error(501, "NotImplemented");
    return std::nullopt;
  };
  EXPECT_TRUE(writer().put_new("k", test_buffer("1"), {}).value());
}

TEST_F(S3WriterTest, ABucketThatIsNotThereIsNoMissingObject) {
  special_ = [](const HttpRequest&) { return std::optional<Result<HttpResponse>>(s3_error(404, "NoSuchBucket")); };
  const std::string keys[] = {"k"};
  EXPECT_EQ(writer().get_all(keys, {}).status().code(), Code::kNotFound);
  EXPECT_EQ(writer().erase(keys, {}).code(), Code::kNotFound);
  special_ = [](const HttpRequest&) { return std::optional<Result<HttpResponse>>(s3_error(404, "NoSuchKey")); };
  EXPECT_FALSE(writer().get_all(keys, {}).value().front());
  EXPECT_TRUE(writer().erase(keys, {}).ok());
}

TEST_F(S3WriterTest, UploadsAreListedPageByPage) {
  special_ = [](const HttpRequest& request) -> std::optional<Result<HttpResponse>> {
    const bool second = request.url.find("key-marker=a%2Fb") != std::string::npos;
    return answer(
        200, fmt::format("<ListMultipartUploadsResult><IsTruncated>{}</IsTruncated><EncodingType>url</EncodingType>"
                         "<NextKeyMarker>a%2Fb</NextKeyMarker><NextUploadIdMarker>9</NextUploadIdMarker>"
                         "<Upload><Key>a%2F{}</Key><UploadId>i&amp;{}</UploadId></Upload>"
                         "<Upload><Key>other</Key><UploadId>x</UploadId></Upload></ListMultipartUploadsResult>",
                         second ? "false" : "true", second, second));
  };
  const auto uploads = writer().unfinished("a/", {});
  ASSERT_TRUE(uploads.ok()) << uploads.status().to_string();
  ASSERT_EQ(uploads->size(), 2u);
  EXPECT_EQ(uploads->front().key, "a/false");
  EXPECT_EQ(uploads->back().id, "i&true");
}

TEST(S3Uploads, AnswersThatAreNoneAreCorrupt) {
  for (const char* text :
       {"", "<a/>", "<ListMultipartUploadsResult><Upload><Key>k</Key></Upload></ListMultipartUploadsResult>",
        "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated></ListMultipartUploadsResult>",
        "<ListMultipartUploadsResult><Upload><Key>k</Key>"})
    EXPECT_EQ(parse_s3_uploads(text).status().code(), Code::kCorrupt) << text;
  EXPECT_TRUE(parse_s3_uploads("<ListMultipartUploadsResult/>").value().uploads.empty());
}

// A real server. It closes every second connection that has received a body of more than 100 KB.
TEST(S3WriterOverSockets, ConnectionsThatAreCutInMidPartAreMadeAgain) {
  std::mutex mutex;
  std::map<std::string, std::string> parts;
  std::map<std::string, int> tries;
  TestServer server([&](const TestServer::Request& request) -> TestServer::Reply {
    const std::lock_guard lock(mutex);
    if (request.target.find("?uploads") != std::string::npos) return {TestServer::ok(kBegun)};
    const size_t part = request.target.find("partNumber=");
    if (part == std::string::npos) return {TestServer::ok("<CompleteMultipartUploadResult/>")};
    const std::string number = request.target.substr(part + 11, 1);
    // The whole body has arrived; the answer is cut off, or missing.
    if (tries[number]++ == 0) return {number == "1" ? "HTTP/1.1 200 OK\r\nContent-Le" : "", TestServer::Reply::kClose};
    parts[number] = request.body;
    return {TestServer::ok("", "ETag: \"" + number + "\"\r\n")};
  });
  const auto caller = retrying_caller(curl_transport(), {.backoff = std::chrono::milliseconds(1)});
  auto client = std::make_shared<S3Client>(options_at(fmt::format("http://127.0.0.1:{}", server.port()), false), caller,
                                           fixed_credentials({"ID", "SECRET", "", {}}));
  S3Writer writer(client, {.part_bytes = 1 << 20, .parts_at_once = 3});
  std::string bytes(3 << 20, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + i / 977);
  const Status put = writer.put("k", test_buffer(bytes), {});
  ASSERT_TRUE(put.ok()) << put.to_string();
  EXPECT_TRUE(parts["1"] + parts["2"] + parts["3"] == bytes);
  EXPECT_EQ(caller->stats().retries, 3u);
}

}  // namespace
}  // namespace forebay
