#include "store/s3/s3_store.h"

#include <gtest/gtest.h>

#include "store/http/amz_checksum.h"
#include "store/http/curl_transport.h"
#include "store/s3/s3_test_support.h"

namespace forebay {
namespace {

class S3StoreTest : public testing::Test {
 protected:
  S3StoreTest() {
    S3Options options;
    options.bucket = "bucket";
    options.endpoint = "http://host";
    auto client = std::make_shared<S3Client>(options, server_, fixed_credentials({"ID", "SECRET", "", {}}));
    store_ = std::make_shared<S3Store>(std::move(client));
  }
  Result<Buffer> read(std::optional<ByteRange> range = {}, std::optional<uint64_t> expected_size = {}) {
    return read_wait(*store_, {"k", range, expected_size}, {});
  }
  static std::string text(const Buffer& buffer) {
    return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
  }

  std::function<Result<HttpResponse>(const HttpRequest&)> serve_;
  std::shared_ptr<FakeServer> server_ =
      std::make_shared<FakeServer>([this](const HttpRequest& r) { return serve_(r); });
  std::shared_ptr<S3Store> store_;
};

TEST_F(S3StoreTest, AReadIsOneRequest) {
  serve_ = [](const HttpRequest&) { return answer(200, "hello"); };
  EXPECT_EQ(text(read().value()), "hello");
  ASSERT_EQ(server_->requests.size(), 1u);
  EXPECT_EQ(server_->requests[0].method, "GET");
}

TEST_F(S3StoreTest, ItsIdleMemoryIsThatOfItsTransport) {
  EXPECT_EQ(store_->idle_memory(), nullptr) << "it was given none";
  const auto transport = shared_http_transport();
  const auto caller = retrying_caller(transport);
  auto client =
      std::make_shared<S3Client>(store_->client()->options(), caller, fixed_credentials({"ID", "SECRET", "", {}}));
  EXPECT_EQ(S3Store(std::move(client), caller).idle_memory(), transport->idle_memory());
}

TEST_F(S3StoreTest, AnotherETagIsAnObjectThatChanged) {
  serve_ = [](const HttpRequest&) { return answer(200, "one", {{"etag", "\"1\""}}); };
  EXPECT_TRUE(read().ok());
  serve_ = [](const HttpRequest&) { return answer(200, "two", {{"etag", "\"2\""}}); };
  const Status changed = read().status();
  EXPECT_EQ(changed.code(), Code::kCorrupt);
  EXPECT_NE(changed.to_string().find("s3://bucket/k: changed"), std::string::npos) << changed.to_string();
  serve_ = [](const HttpRequest&) { return answer(206, "wo", {{"etag", "\"2\""}, {"content-range", "bytes 1-2/3"}}); };
  EXPECT_EQ(read(ByteRange{1, 2}).status().code(), Code::kCorrupt) << "parts of two versions are never mixed";
}

TEST_F(S3StoreTest, WhatWasWrittenThroughTheStoreMayBeReadAgain) {
  serve_ = [](const HttpRequest&) { return answer(200, "one", {{"etag", "\"1\""}}); };
  EXPECT_TRUE(read().ok());
  EXPECT_TRUE(store_->put("k", test_buffer("two"), {}).ok());
  serve_ = [](const HttpRequest&) { return answer(200, "two", {{"etag", "\"2\""}}); };
  EXPECT_EQ(text(read().value()), "two");
}

TEST_F(S3StoreTest, AServerWithoutRangesIsReadAllTheSame) {
  serve_ = [](const HttpRequest&) { return answer(200, "0123456789"); };
  EXPECT_EQ(text(read(ByteRange{3, 4}).value()), "3456");
  EXPECT_EQ(read(ByteRange{8, 4}).status().code(), Code::kCorrupt);
}

TEST_F(S3StoreTest, AnotherPartThanWasAskedForIsNotTaken) {
  for (const char* range : {"bytes 2-5/10", "bytes 3-5/10", "", "bytes x", "bytes 6-3/10"}) {
    serve_ = [&](const HttpRequest&) { return answer(206, "3456", {{"content-range", range}}); };
    EXPECT_EQ(read(ByteRange{3, 4}).status().code(), Code::kUnavailable) << range;
  }
}

TEST_F(S3StoreTest, AChecksumThatDiffersIsTriedAgainAndThenCorrupt) {
  const std::string body = "123456789";
  int asked = 0;
  serve_ = [&](const HttpRequest& request) {
    EXPECT_EQ(header_of(request, "x-amz-checksum-mode"), "ENABLED");
    return answer(200, ++asked == 1 ? "123456780" : body, {{"x-amz-checksum-crc32c", "4waSgw=="}});
  };
  EXPECT_EQ(text(read().value()), body);
  EXPECT_EQ(asked, 2);
  serve_ = [&](const HttpRequest&) { return answer(200, "123456780", {{"x-amz-checksum-crc32c", "4waSgw=="}}); };
  EXPECT_EQ(read().status().code(), Code::kCorrupt);
}

TEST_F(S3StoreTest, EveryKindOfChecksumIsKnown) {
  const auto checked = [](const char* header, const char* value) {
    return check_amz_checksum(answer(200, "123456789", {{header, value}})).code();
  };
  EXPECT_EQ(checked("x-amz-checksum-crc32", "y/Q5Jg=="), Code::kOk);
  EXPECT_EQ(checked("x-amz-checksum-crc32c", "4waSgw=="), Code::kOk);
  EXPECT_EQ(checked("x-amz-checksum-crc64nvme", "rosUhgp5mIg="), Code::kOk);
  EXPECT_EQ(checked("x-amz-checksum-sha256", "FeKw08M4ka3dUSdtqx1ALsMkyKqFNwHbtiyZmz5sIiU="), Code::kUnavailable);
  EXPECT_EQ(checked("x-amz-checksum-sha256", "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="), Code::kOk);
  EXPECT_EQ(checked("x-amz-checksum-crc32", "AAAAAA=="), Code::kUnavailable);
  EXPECT_EQ(checked("x-amz-checksum-crc32", "AAAAAA==-3"), Code::kOk) << "of parts: not ours to check";
}

TEST_F(S3StoreTest, AHeadWithoutReasonIsAskedAgainForOne) {
  serve_ = [](const HttpRequest& request) {
    return request.method == "HEAD" ? answer(403) : s3_error(403, "SignatureDoesNotMatch");
  };
  const Status status = stat_wait(*store_, "k", {}).status();
  EXPECT_NE(status.message().find("secret access key"), std::string::npos) << status.to_string();
  EXPECT_EQ(status.key(), "s3://bucket/k");
}

TEST_F(S3StoreTest, TellsWhichVersionItGaveToWhoAsks) {
  const auto version_of = [&](bool alone) {
    ReadRequest request{"k", {}, {}};
    request.version = std::make_shared<std::atomic<uint64_t>>(0);
    request.version_only = alone;
    EXPECT_TRUE(read_wait(*store_, request, {}).ok());
    return request.version->load();
  };
  serve_ = [](const HttpRequest& request) {
    return answer(200, request.method == "HEAD" ? "" : "one", {{"etag", "\"1\""}, {"content-length", "3"}});
  };
  EXPECT_EQ(version_of(true), version_of_etag("\"1\""));
  EXPECT_EQ(server_->requests.back().method, "HEAD");
  EXPECT_EQ(version_of(false), version_of_etag("\"1\""));
  serve_ = [](const HttpRequest&) { return s3_error(404, "NoSuchKey"); };
  EXPECT_EQ(version_of(true), 0u) << "that there is none is for whoever reads it to hear";
}

TEST_F(S3StoreTest, ListingsAskForOneLevelAndOddNames) {
  serve_ = [](const HttpRequest&) {
    return answer(
        200,
        "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>d/a%2Bb</Key><Size>1</Size></Contents>"
        "</ListBucketResult>");
  };
  const ListPage page = list_wait(*store_, {.prefix = "d/", .continuation = "", .after = "d/a b"}, {}).value();
  EXPECT_EQ(page.objects.at(0).key, "d/a+b");
  EXPECT_EQ(
      server_->requests[0].url,
      "http://host/bucket?delimiter=%2F&encoding-type=url&list-type=2&max-keys=1000&prefix=d%2F&start-after=d%2Fa%20b");
}

TEST_F(S3StoreTest, PartsOfAnUploadThatFailedAreTakenAway) {
  bool fail = true;
  serve_ = [&](const HttpRequest& request) -> Result<HttpResponse> {
    if (request.url.ends_with("?uploads=")) {
      return answer(200, "<InitiateMultipartUploadResult><UploadId>u 1</UploadId></InitiateMultipartUploadResult>");
    }
    if (fail && request.url.find("partNumber=2") != std::string::npos) return s3_error(403, "AccessDenied");
    return answer(200, "", {{"etag", "\"e\""}});
  };
  EXPECT_EQ(store_->put("k", test_buffer("0123456789"), {}, 4).code(), Code::kInvalidArgument);
  EXPECT_EQ(server_->requests.back().method, "DELETE");
  EXPECT_TRUE(server_->requests.back().url.ends_with("?uploadId=u%201"));
  fail = false;
  server_->requests.clear();
  EXPECT_TRUE(store_->put("k", test_buffer("0123456789"), {}, 4).ok());
  ASSERT_EQ(server_->requests.size(), 5u);
  EXPECT_EQ(text(server_->requests[3].body), "89");
  EXPECT_NE(text(server_->requests[4].body).find("<Part><PartNumber>3</PartNumber>"), std::string::npos);
}

TEST_F(S3StoreTest, KeysThatNoServerHasAreNotAskedFor) {
  for (const std::string& key : {std::string(), std::string(1025, 'k'), std::string("a\0b", 3)}) {
    EXPECT_EQ(read_wait(*store_, {key, {}, {}}, {}).status().code(), Code::kNotFound);
  }
  EXPECT_TRUE(server_->requests.empty());
}

}  // namespace
}  // namespace forebay
