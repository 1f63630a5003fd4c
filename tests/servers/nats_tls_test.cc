// NATS over TLS, and by its ways to say who asks, on a real server.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nats/nats.h>

#include <fstream>
#include <map>

#include "servers/broker_control.h"
#include "servers/variable.h"
#include "store/scratch_folder.h"
#include "stream/log_conformance.h"
#include "stream/open/open_log.h"

namespace forebay {

namespace {

using conformance::order;
using conformance::positions_of;
using conformance::read_count;
using conformance::text_of;
using conformance::variable;
using Options = std::map<std::string, std::string>;

constexpr auto kNatsTlsControl = "FOREBAY_TEST_NATS_TLS_CONTROL";

std::string nats_tls_server() { return variable("FOREBAY_TEST_NATS_TLS"); }
std::string nats_certificate(const std::string& file) {
  return variable("FOREBAY_TEST_NATS_TLS_CERTIFICATES") + "/" + file;
}

/// Makes the stream where there is none, and publishes to it.
void publish(const std::string& stream, int from, int count) {
  natsOptions* options = nullptr;
  natsConnection* connection = nullptr;
  jsCtx* context = nullptr;
  natsOptions_Create(&options);
  natsOptions_SetURL(options, nats_tls_server().c_str());
  natsOptions_LoadCATrustedCertificates(options, nats_certificate("ca.pem").c_str());
  ASSERT_EQ(natsConnection_Connect(&connection, options), NATS_OK) << nats_GetLastError(nullptr);
  ASSERT_EQ(natsConnection_JetStream(&context, connection, nullptr), NATS_OK);
  jsStreamConfig config;
  jsStreamConfig_Init(&config);
  const char* subjects[] = {stream.c_str()};
  config.Name = stream.c_str();
  config.Subjects = subjects;
  config.SubjectsLen = 1;
  config.Storage = js_FileStorage;
  js_AddStream(nullptr, context, &config, nullptr, nullptr);
  for (int i = from; i < from + count; ++i) {
    const std::string text = std::to_string(i);
    EXPECT_EQ(
        js_Publish(nullptr, context, stream.c_str(), text.data(), static_cast<int>(text.size()), nullptr, nullptr),
        NATS_OK);
  }
  jsCtx_Destroy(context);
  natsConnection_Destroy(connection);
  natsOptions_Destroy(options);
}

class NatsTlsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (nats_tls_server().empty()) GTEST_SKIP() << "SERVERS ABSENT: FOREBAY_TEST_NATS_TLS is not set";
    ca_ = {{"ca_file", nats_certificate("ca.pem")}};
    publish("tls", 0, 1);
  }
  void TearDown() override {
    if (!nats_tls_server().empty()) order(kNatsTlsControl, "start");  // as it was
  }
  Options with_ca(Options more) const {
    more.insert(ca_.begin(), ca_.end());
    return more;
  }
  static std::string url(const std::string& who = "", const std::string& host = "localhost",
                         const std::string& scheme = "tls") {
    return scheme + "://" + who + host + nats_tls_server().substr(nats_tls_server().rfind(':')) + "/tls";
  }
  static Status status_of(const std::string& url, const Options& options) {
    auto log = open_log({.url = url, .storage = options});
    if (!log.ok()) return log.status();
    LogReader::Limits limits;
    limits.wait = std::chrono::seconds(20);
    const auto records = (*(*log)->read_after(positions_of(**log)))->read({0}, limits, {});
    EXPECT_TRUE(!records.ok() || !records->empty()) << "there is a record";
    return records.status();
  }
  static void expect_good(const std::string& url, const Options& options) {
    const Status status = status_of(url, options);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  static void expect_refused(const std::string& url, const Options& options, const std::string& words) {
    const Status status = status_of(url, options);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.to_string();
    EXPECT_NE(status.to_string().find(words), std::string::npos) << status.to_string();
    EXPECT_NE(status.to_string().find(nats_tls_server().substr(nats_tls_server().rfind(':'))), std::string::npos)
        << status.to_string();
    EXPECT_EQ(status.to_string().find("hunter"), std::string::npos) << status.to_string();
  }
  Options ca_;
};

}  // namespace

TEST_F(NatsTlsTest, CertificatesThatProveNothingAreRefusedWithTheWayOut) {
  expect_good(url(), ca_);
  expect_good(url("", "127.0.0.1", "nats"), ca_);
  expect_refused(url(), {{"ca_file", nats_certificate("other.pem")}}, "storage_options={'ca_file': …}");
  expect_refused(url(), {}, "storage_options={'ca_file': …}");
  order(kNatsTlsControl, "start?certificate=elsewhere");
  expect_refused(url(), ca_, "not for 'localhost'");
  expect_good(url(), with_ca({{"server_name", "elsewhere.example"}}));
  order(kNatsTlsControl, "start?certificate=expired");
  expect_refused(url(), ca_, "out of date");
}

TEST_F(NatsTlsTest, AServerWithoutTlsIsNotToldSecrets) {
  const std::string plain = variable("FOREBAY_TEST_NATS");
  if (plain.empty()) GTEST_SKIP() << "SERVERS ABSENT: FOREBAY_TEST_NATS is not set";
  const Status status = status_of("tls" + plain.substr(4) + "/tls", {});
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.to_string();
  EXPECT_NE(status.message().find("speaks no TLS"), std::string::npos) << status.to_string();
}

TEST_F(NatsTlsTest, AClientWithoutTheServersTrustIsToldSo) {
  order(kNatsTlsControl, "start?clients=yes");
  for (int i = 0; i < 5; ++i) expect_refused(url(), ca_, "'certificate_file': …");
  expect_good(url(), with_ca({{"certificate_file", nats_certificate("client.pem")},
                              {"key_file", nats_certificate("client.key")}}));
}

TEST_F(NatsTlsTest, PasswordsAndTokensComeFromTheUrlOrFromOptions) {
  order(kNatsTlsControl, "start?authorization=user:%20reader,%20password:%20hunter2");
  expect_good(url("reader:hunter2@"), ca_);
  expect_good(url(), with_ca({{"user", "reader"}, {"password", "hunter2"}}));
  expect_refused(url("reader:hunter3@"), ca_, "storage_options");
  order(kNatsTlsControl, "start?authorization=token:%20hunter4");
  expect_good(url(), with_ca({{"token", "hunter4"}}));
  expect_good(url("hunter4@"), ca_);
  expect_refused(url(), with_ca({{"token", "hunter5"}}), "storage_options");
}

// A pair made for this test, which opens nothing.
TEST_F(NatsTlsTest, AnNkeyAnswersForItself) {
  const std::string nkey = "UAB2CB576PHBBPQ5ODORRZ2LYCMWPZGWGCN2KDK7DXOIMZASKUY3RLKK",
                    seed = "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H776Y";
  const ScratchFolder folder;
  folder.write("seed", seed);
  folder.write("other", "SUAACAQDAQCQMBYIBEFAWDANBYHRAEISCMKBKFQXDAMRUGY4DUPB6IC5CQ");
  order(kNatsTlsControl, "start?authorization=users:%20[%7Bnkey:%20" + nkey + "%7D]");
  expect_good(url(), with_ca({{"nkey", nkey}, {"nkey_seed_file", folder.path("seed")}}));
  expect_refused(url(), with_ca({{"nkey", nkey}, {"nkey_seed_file", folder.path("other")}}), "storage_options");
}

TEST_F(NatsTlsTest, ABrokerThatIsKilledAndStartedAgainIsReadToItsEnd) {
  const std::string stream = fmt::format("killed-{}", ::getpid());
  publish(stream, 0, 100);
  const auto log = open_log({.url = nats_tls_server() + "/" + stream, .storage = ca_}).value();
  const auto reading = log->read_after(positions_of(*log)).value();
  std::vector<LogRecord> records = read_count(*reading, {0}, 100);
  for (int life = 1; life < 4; ++life) {
    order(kNatsTlsControl, "kill");
    for (int i = 0; i < 200 && reading->trouble().empty(); ++i) {
      const auto none = reading->read({0}, {}, {});
      ASSERT_TRUE(none.ok()) << none.status().to_string();
    }
    EXPECT_NE(reading->trouble().find("localhost"), std::string::npos) << reading->trouble();
    order(kNatsTlsControl, "start");
    publish(stream, life * 100, 100);
    for (LogRecord& record : read_count(*reading, {0}, 100)) records.push_back(std::move(record));
  }
  ASSERT_EQ(records.size(), 400u);
  for (size_t i = 0; i < records.size(); ++i) ASSERT_EQ(text_of(*log, records[i]), std::to_string(i));
  EXPECT_TRUE(reading->take_gaps().empty());
}

}  // namespace forebay
