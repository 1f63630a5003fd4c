// What S3Writer promises, tried on real S3 servers, and through a link that fails.
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "format/files/open_store.h"
#include "servers/variable.h"
#include "store/conformance.h"
#include "store/http/curl_transport.h"
#include "store/s3/s3_store.h"
#include "store/s3/s3_writer.h"

namespace forebay {
namespace {

constexpr uint64_t kPart = 5 << 20;  // the least that S3 takes

struct Server {
  std::string name, endpoint, credentials;
};
void PrintTo(const Server& server, std::ostream* out) { *out << server.name; }

StorageOptions options_of(const Server& server) {
  StorageOptions options;
  if (conformance::variable(server.endpoint).empty()) return options;
  options["endpoint"] = conformance::variable(server.endpoint);
  options["access_key_id"] = conformance::variable(server.credentials + "_KEY");
  options["secret_access_key"] = conformance::variable(server.credentials + "_SECRET");
  options["region"] = "us-east-1";
  options["listing_cache"] = "";
  if (options["endpoint"].starts_with("https://")) options["ca_file"] = conformance::variable("FOREBAY_TEST_CA");
  return options;
}

Buffer some_bytes(size_t size, uint8_t seed = 0) {
  Buffer buffer = Buffer::allocate(size);
  for (size_t i = 0; i < size; ++i) buffer.data()[i] = static_cast<uint8_t>(i * 31 + i / 251 + seed);
  return buffer;
}

bool equal(const Buffer& a, const Buffer& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

class S3WriterConformance : public testing::TestWithParam<Server> {
 protected:
  void SetUp() override {
    options_ = options_of(GetParam());
    if (options_.empty()) {
      if (conformance::variable("FOREBAY_REQUIRE_SERVERS") == "1") FAIL() << "SERVERS ABSENT: " << GetParam().name;
      GTEST_SKIP() << "SERVERS ABSENT: " << GetParam().name;
    }
    open();
    const Status created = store_->create_bucket({});
    ASSERT_TRUE(created.ok()) << created.to_string();
  }

  void open() {
    static std::atomic<int> count{0};
    writer_.reset();
    if (bucket_.empty()) bucket_ = fmt::format("writer-{}-{}", ::getpid(), ++count);
    const auto opened = open_store("s3://" + bucket_, options_);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    store_ = std::static_pointer_cast<S3Store>(opened->store);
    writer_.emplace(store_->client(), S3UploadOptions{.part_bytes = kPart, .parts_at_once = 4});
  }

  Buffer stored(const std::string& key) {
    const std::string keys[] = {key};
    const auto found = writer_->get_all(keys, {});
    EXPECT_TRUE(found.ok()) << found.status().to_string();
    return found.ok() && found->front() ? *found->front() : Buffer();
  }
  size_t uploads(const std::string& prefix = "") {
    const auto found = writer_->unfinished(prefix, {});
    EXPECT_TRUE(found.ok()) << found.status().to_string();
    return found.ok() ? found->size() : SIZE_MAX;
  }
  std::string begin_upload(const std::string& key) {
    const auto begun = store_->client()->send_wait({.method = "POST", .key = key, .query = {{"uploads", ""}}}, {});
    EXPECT_TRUE(begun.ok()) << begun.status().to_string();
    return begun.ok() ? parse_s3_element(text_view(begun->body), "UploadId").value() : "";
  }

  StorageOptions options_;
  std::string bucket_;
  std::shared_ptr<S3Store> store_;
  std::optional<S3Writer> writer_;
};

TEST_P(S3WriterConformance, AnObjectOfAnySizeIsWhatWasPut) {
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{kPart}, size_t{kPart + 1}, size_t{3 * kPart}, size_t{3 * kPart + 17}}) {
    const Buffer bytes = some_bytes(size);
    const Status put = writer_->put("a b/ü+%.bin", bytes, {});
    ASSERT_TRUE(put.ok()) << size << ": " << put.to_string();
    EXPECT_TRUE(equal(stored("a b/ü+%.bin"), bytes)) << size;
  }
  EXPECT_EQ(uploads(), 0u);
}

TEST_P(S3WriterConformance, WithChecksumsThatTheServerMayKeep) {
  options_["write_checksums"] = "true";
  open();
  for (const size_t size : {size_t{1000}, size_t{2 * kPart + 1}}) {
    const Buffer bytes = some_bytes(size, 3);
    const Status put = writer_->put("k", bytes, {});
    ASSERT_TRUE(put.ok()) << put.to_string();
    const auto read = read_wait(*store_, {"k", {}, {}}, {});
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_TRUE(equal(*read, bytes));
    store_->begin_reading();  // and its end: another run, to which the object has not changed
  }
}

TEST_P(S3WriterConformance, WhoIsSecondLeavesTheFirstOrReadsItAgain) {
  const Buffer first = some_bytes(100, 1), second = some_bytes(100, 2);
  const Result<bool> begun = writer_->put_new("job", first, {});
  ASSERT_TRUE(begun.ok() && *begun) << begun.status().to_string();
  const Result<bool> written = writer_->put_new("job", second, {});
  ASSERT_TRUE(written.ok()) << written.status().to_string();
  EXPECT_TRUE(equal(stored("job"), *written ? second : first));
  RecordProperty("knows_the_condition", *written ? "no" : "yes");
}

TEST_P(S3WriterConformance, ManyAreReadSizedListedAndErased) {
  std::vector<std::string> keys;
  for (int i = 0; i < 70; ++i) keys.push_back(fmt::format("many/{}/{:02}", i % 3, i));
  for (size_t i = 0; i < keys.size(); ++i) ASSERT_TRUE(writer_->put(keys[i], some_bytes(i), {}).ok());
  keys.push_back("many/none");
  const auto read = writer_->get_all(keys, {});
  const auto sizes = writer_->sizes(keys, {});
  ASSERT_TRUE(read.ok() && sizes.ok()) << read.status().to_string() << sizes.status().to_string();
  for (size_t i = 0; i < 70; ++i) {
    EXPECT_TRUE((*read)[i] && equal(*(*read)[i], some_bytes(i))) << i;
    EXPECT_EQ((*sizes)[i], i);
  }
  EXPECT_FALSE(read->back() || sizes->back());
  EXPECT_EQ(writer_->list("many/", {}).value().size(), 70u);
  EXPECT_EQ(writer_->list("man", {}).value().size(), 70u);
  EXPECT_EQ(writer_->list("other/", {}).value().size(), 0u);
  const Status erased = writer_->erase(keys, {});
  EXPECT_TRUE(erased.ok()) << erased.to_string();
  EXPECT_EQ(writer_->list("", {}).value().size(), 0u);
}

TEST_P(S3WriterConformance, AListOfMoreThanAPageIsWhole) {
  std::vector<std::string> keys;
  for (int i = 0; i < 1003; ++i) keys.push_back(fmt::format("page/{:04}", i));
  const bool slow = GetParam().name == "swift";
  if (slow) GTEST_SKIP() << "1,003 objects take this server a minute";
  for (const std::string& key : keys) ASSERT_TRUE(writer_->put(key, some_bytes(1), {}).ok());
  EXPECT_EQ(writer_->list("page/", {}).value().size(), keys.size());
}

TEST_P(S3WriterConformance, UploadsThatWereLeftAreFoundAndGivenUp) {
  begin_upload("left/part-1");
  begin_upload("left/part-1");
  begin_upload("left/part-2");
  begin_upload("other");
  EXPECT_EQ(uploads(), 4u);
  const auto left = writer_->unfinished("left/", {});
  ASSERT_TRUE(left.ok()) << left.status().to_string();
  EXPECT_EQ(left->size(), 3u);
  for (const S3PartialUpload& upload : *left) {
    EXPECT_TRUE(upload.key.starts_with("left/part-"));
    EXPECT_TRUE(writer_->abort(upload, {}).ok());
    EXPECT_TRUE(writer_->abort(upload, {}).ok()) << "it is gone, which is what was wanted";
  }
  EXPECT_EQ(uploads(), 1u);
}

TEST_P(S3WriterConformance, AStopEndsAWriteAndLeavesNothing) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(writer_->put("stopped", some_bytes(3 * kPart), stop.get_token()).code(), Code::kCancelled);
  EXPECT_EQ(writer_->put("stopped", some_bytes(3), stop.get_token()).code(), Code::kCancelled);
  EXPECT_EQ(writer_->list("", stop.get_token()).status().code(), Code::kCancelled);
  EXPECT_EQ(uploads(), 0u);
  EXPECT_EQ(writer_->list("", {}).value().size(), 0u);
}

TEST_P(S3WriterConformance, MistakesAreNamed) {
  const Buffer bytes = some_bytes(10), large = some_bytes(kPart + 1);
  const auto told = [&](StorageOptions options, const std::string& bucket) {
    const auto store = std::static_pointer_cast<S3Store>(open_store("s3://" + bucket, options)->store);
    S3Writer writer(store->client(), {.part_bytes = kPart});
    const std::string keys[] = {"k"};
    const Status small = writer.put("k", bytes, {});
    EXPECT_EQ(small.code(), writer.put("k", large, {}).code());
    EXPECT_EQ(small.code(), writer.get_all(keys, {}).status().code());
    EXPECT_EQ(small.code(), writer.list("", {}).status().code());
    EXPECT_EQ(small.code(), writer.unfinished("", {}).status().code());
    EXPECT_EQ(small.to_string().find("wrong-secret"), std::string::npos);
    return small.to_string();
  };
  EXPECT_NE(told(options_, bucket_ + "-none").find("there is no bucket"), std::string::npos);
  StorageOptions wrong = options_;
  wrong["secret_access_key"] = "wrong-secret";
  EXPECT_NE(told(wrong, bucket_).find("InvalidArgument"), std::string::npos);
  EXPECT_EQ(writer_->put("", bytes, {}).code(), Code::kInvalidArgument);
  EXPECT_EQ(writer_->put(std::string(1025, 'k'), bytes, {}).code(), Code::kInvalidArgument);
  const std::string none[] = {""};
  EXPECT_EQ(writer_->erase(none, {}).code(), Code::kInvalidArgument) << "that would be the bucket";
}

INSTANTIATE_TEST_SUITE_P(S3, S3WriterConformance,
                         testing::Values(Server{"ceph", "FOREBAY_TEST_S3", "FOREBAY_TEST_S3"},
                                         Server{"ceph_tls", "FOREBAY_TEST_S3_TLS", "FOREBAY_TEST_S3"},
                                         Server{"swift", "FOREBAY_TEST_SWIFT", "FOREBAY_TEST_SWIFT"}),
                         [](const auto& server) { return server.param.name; });

/// Requests that fail on their way, one of so many; each by a fault of its own.
class S3WriterFaults : public S3WriterConformance {
 protected:
  void TearDown() override {
    if (!options_.empty()) control("/reset");
  }
  static void control(const std::string& path) {
    const auto transport = shared_http_transport();
    conformance::Answers<HttpResponse> answers;
    HttpRequest request;
    request.url = conformance::variable("FOREBAY_TEST_FAULTS_CONTROL") + path;
    transport->send(std::move(request), {}, answers.take());
    ASSERT_TRUE(answers.wait_for_count(1));
  }
};

TEST_P(S3WriterFaults, WhatFailsOnItsWayIsSentAgain) {
  const Buffer bytes = some_bytes(6 * kPart + 5);
  for (const char* fault : {"share_503=0.3", "share_503_retry=0.2&retry_after_s=1", "share_closed=0.3",
                            "share_503=0.1&share_closed=0.15"}) {
    control(std::string("/reset"));
    control(std::string("/set?seed=3&") + fault);
    for (int i = 0; i < 3; ++i) {
      const Status put = writer_->put(fmt::format("k{}", i), bytes, {});
      ASSERT_TRUE(put.ok()) << fault << ": " << put.to_string();
      EXPECT_TRUE(equal(stored(fmt::format("k{}", i)), bytes));
    }
    control("/reset");
  }
}

TEST_P(S3WriterFaults, AServerThatIsAwayForAMomentIsWaitedFor) {
  const Buffer bytes = some_bytes(8 * kPart);
  ASSERT_TRUE(writer_->put("before", some_bytes(10), {}).ok());
  control("/outage?seconds=1&kind=closed");
  const Status put = writer_->put("cut", bytes, {});
  ASSERT_TRUE(put.ok()) << put.to_string();
  EXPECT_TRUE(equal(stored("cut"), bytes));
}

TEST_P(S3WriterFaults, AServerThatStaysAwayIsUnavailableAndTheNextWriteGoesOn) {
  ASSERT_TRUE(writer_->put("before", some_bytes(10), {}).ok());
  options_["retries"] = "0";
  open();
  control("/outage?seconds=600&kind=503");
  EXPECT_EQ(writer_->put("away", some_bytes(2 * kPart), {}).code(), Code::kUnavailable);
  control("/outage?seconds=0");
  EXPECT_TRUE(writer_->put("away", some_bytes(2 * kPart), {}).ok());
  EXPECT_TRUE(equal(stored("away"), some_bytes(2 * kPart)));
}

INSTANTIATE_TEST_SUITE_P(S3, S3WriterFaults,
                         testing::Values(Server{"faults", "FOREBAY_TEST_FAULTS", "FOREBAY_TEST_S3"}),
                         [](const auto& server) { return server.param.name; });

}  // namespace
}  // namespace forebay
