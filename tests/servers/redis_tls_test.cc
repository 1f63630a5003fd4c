// Redis over TLS, on a real server: all that a log promises, and whom a reader does not believe.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <thread>

#include "servers/broker_control.h"
#include "servers/redis_writer.h"
#include "stream/log_conformance.h"
#include "stream/open/open_log.h"

namespace forebay {

namespace {

using conformance::expect_stop_ends_read;
using conformance::LogDriver;
using conformance::LogUnderTest;
using conformance::order;
using conformance::positions_of;
using conformance::read_count;
using conformance::RedisWriter;
using conformance::text_of;
using conformance::variable;
using std::chrono::milliseconds;
using Options = std::map<std::string, std::string>;

constexpr auto kTlsControl = "FOREBAY_TEST_REDIS_TLS_CONTROL";

std::string tls_server() { return variable("FOREBAY_TEST_REDIS_TLS"); }
std::string plain_server() { return variable("FOREBAY_TEST_REDIS_TLS_PLAIN"); }
std::string certificate(const std::string& file) {
  return variable("FOREBAY_TEST_REDIS_TLS_CERTIFICATES") + "/" + file;
}
std::string tls_port() { return tls_server().substr(tls_server().rfind(':')); }

std::shared_ptr<const RecordLog> open_tls(const std::string& stream, Options options = {}) {
  options.try_emplace("ca_file", certificate("ca.pem"));
  auto log = open_log({.url = tls_server() + "/" + stream, .storage = options});
  EXPECT_TRUE(log.ok()) << log.status().to_string();
  return std::move(log).value();
}

class RedisTlsUnderTest final : public LogUnderTest {
 public:
  explicit RedisTlsUnderTest(size_t partitions) : partitions_(partitions) {}
  std::shared_ptr<const RecordLog> log() override {
    return open_tls(partitions_ == 1 ? stream_ + "0" : fmt::format("{}{{0..{}}}", stream_, partitions_ - 1));
  }
  void append(size_t partition, const std::vector<std::string>& payloads) override {
    RedisWriter(plain_server()).append(stream_ + fmt::format("{}", partition), payloads);
  }

 private:
  const size_t partitions_;
  const std::string stream_ = RedisWriter::new_stream();
};

class RedisTlsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (tls_server().empty()) GTEST_SKIP() << "SERVERS ABSENT: FOREBAY_TEST_REDIS_TLS is not set";
    RedisWriter(plain_server()).append("s", {"a record"});
  }
  void TearDown() override {
    if (!tls_server().empty()) order(kTlsControl, "start");  // as it was
  }
  /// Of a reader of that URL, at its first read.
  static Status status_of(const std::string& url, const Options& options) {
    auto log = open_log({.url = url, .storage = options});
    if (!log.ok()) return log.status();
    LogReader::Limits limits;
    limits.wait = std::chrono::seconds(20);
    const auto records = (*(*log)->read_after(positions_of(**log)))->read({0}, limits, {});
    EXPECT_TRUE(!records.ok() || !records->empty()) << "there is one";
    return records.status();
  }
  /// At once an error that has `words`, and the server.
  static void expect_refused(const std::string& url, Options options, const std::string& words) {
    options.try_emplace("ca_file", certificate("ca.pem"));
    const Status status = status_of(url, options);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.to_string();
    EXPECT_NE(status.to_string().find(words), std::string::npos) << status.to_string();
    EXPECT_NE(status.to_string().find(tls_port()), std::string::npos) << status.to_string();
  }
};

}  // namespace

namespace conformance {
INSTANTIATE_TEST_SUITE_P(RedisTls, LogConformance,
                         testing::Values(LogDriver{"RedisTls", [](size_t partitions) {
                                                     return tls_server().empty()
                                                                ? nullptr
                                                                : std::make_unique<RedisTlsUnderTest>(partitions);
                                                   }}));
}  // namespace conformance

TEST_F(RedisTlsTest, CertificatesThatProveNothingAreRefusedWithTheWayOut) {
  const std::string url = tls_server() + "/s";
  expect_refused(url, {{"ca_file", certificate("other.pem")}}, "storage_options={'ca_file': …}");
  EXPECT_EQ(status_of(url, {}).code(), Code::kInvalidArgument) << "the system knows no such authority";
  order(kTlsControl, "start?certificate=elsewhere");
  expect_refused(url, {}, "not for 'localhost'");
  expect_refused("rediss://127.0.0.1" + tls_port() + "/s", {}, "not for '127.0.0.1'");
  EXPECT_TRUE(status_of(url, {{"ca_file", certificate("ca.pem")}, {"server_name", "elsewhere.example"}}).ok());
  order(kTlsControl, "start?certificate=expired");
  expect_refused(url, {}, "out of date");
}

TEST_F(RedisTlsTest, AClientWithoutTheServersTrustIsToldSo) {
  order(kTlsControl, "start?clients=yes");
  const std::string url = tls_server() + "/s";
  for (int i = 0; i < 20; ++i) expect_refused(url, {}, "'certificate_file': …");  // it may go before it is heard
  expect_refused(url, {{"certificate_file", certificate("stranger.pem")}, {"key_file", certificate("stranger.key")}},
                 "an authority of the server's");
  const Status known = status_of(url, {{"ca_file", certificate("ca.pem")},
                                       {"certificate_file", certificate("client.pem")},
                                       {"key_file", certificate("client.key")}});
  EXPECT_TRUE(known.ok()) << known.to_string();
}

TEST_F(RedisTlsTest, TheWrongSchemeForThePortIsNamed) {
  const std::string url = "redis://localhost" + tls_port() + "/s";
  const auto log = open_log({url}).value();
  const auto reading = log->read_after(positions_of(*log)).value();
  for (int i = 0; i < 20 && reading->trouble().empty(); ++i) ASSERT_TRUE(reading->read({0}, {}, {}).ok());
  EXPECT_NE(reading->trouble().find("rediss://"), std::string::npos) << reading->trouble();
  const Status status = status_of(url, {{"ca_file", certificate("ca.pem")}});
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.to_string();
  EXPECT_NE(status.message().find("write rediss://"), std::string::npos) << status.to_string();
}

TEST_F(RedisTlsTest, UserAndPasswordComeFromTheUrlOrFromOptions) {
  RedisWriter(plain_server()).must({"ACL", "SETUSER", "reader", "on", ">the-secret", "~*", "+@all"});
  const std::string host = tls_server().substr(9);
  const Options ca{{"ca_file", certificate("ca.pem")}};
  EXPECT_TRUE(status_of("rediss://reader:the-secret@" + host + "/s", ca).ok());
  Options who = ca;
  who["user"] = "reader";
  who["password"] = "the-secret";
  EXPECT_TRUE(status_of(tls_server() + "/s", who).ok());
  EXPECT_TRUE(
      status_of("rediss://reader@" + host + "/s", {{"ca_file", ca.at("ca_file")}, {"password", "the-secret"}}).ok());
  EXPECT_EQ(open_tls("s", who)->identity().find("secret"), std::string::npos);
  who["password"] = "bad-secret";
  expect_refused(tls_server() + "/s", who, "storage_options");
  EXPECT_EQ(status_of(tls_server() + "/s", who).to_string().find("secret"), std::string::npos);
}

TEST_F(RedisTlsTest, ABrokerThatIsKilledAndStartedAgainIsReadToItsEnd) {
  const std::string stream = RedisWriter::new_stream();
  const auto log = open_tls(stream);
  const auto reading = (*log).read_after(positions_of(*log)).value();
  constexpr size_t kEach = 200, kLives = 3;
  std::vector<LogRecord> records;
  for (size_t life = 0; life < kLives; ++life) {
    RedisWriter writer(plain_server());
    writer.must({"CONFIG", "SET", "appendfsync", "always"});
    for (size_t i = 0; i < kEach; ++i) writer.append(stream, {std::to_string(life * kEach + i)});
    LogReader::Limits limits;
    limits.records = 20;
    while (records.size() < life * kEach + kEach / 2) {
      auto some = reading->read({0}, limits, {});
      ASSERT_TRUE(some.ok()) << some.status().to_string();
      for (LogRecord& record : *some) records.push_back(std::move(record));
    }
    order(kTlsControl, "kill");
    for (int i = 0; i < 100 && reading->trouble().empty(); ++i) {
      auto some = reading->read({0}, limits, {});
      ASSERT_TRUE(some.ok()) << some.status().to_string();
      for (LogRecord& record : *some) records.push_back(std::move(record));
    }
    EXPECT_NE(reading->trouble().find("localhost"), std::string::npos) << reading->trouble();
    order(kTlsControl, "start");
    for (LogRecord& record : read_count(*reading, {0}, (life + 1) * kEach - records.size()))
      records.push_back(std::move(record));
    EXPECT_EQ(reading->reconnects(), static_cast<int64_t>(life) + 1);
  }
  ASSERT_EQ(records.size(), kEach * kLives);
  for (size_t i = 0; i < records.size(); ++i) ASSERT_EQ(text_of(*log, records[i]), std::to_string(i));
  EXPECT_TRUE(reading->take_gaps().empty());
}

TEST_F(RedisTlsTest, AServerThatHangsHoldsUpNoStop) {
  for (const bool connected : {true, false}) {
    const auto log = open_tls("s");
    const auto reading = log->read_after(positions_of(*log)).value();
    LogReader::Limits limits;
    ASSERT_TRUE(!connected || reading->read({0}, limits, {}).ok());
    order(kTlsControl, "pause");
    expect_stop_ends_read(*reading);
    order(kTlsControl, "resume");
  }
}

}  // namespace forebay
