// Tests Kafka over TLS, and the conversion of its options. The library's mock cluster has no TLS,
// so a proxy provides it. Certificates, broken connections and reading over TLS are tested;
// authentication (SASL) is not.
#include <gtest/gtest.h>

#include <charconv>

#include <fmt/format.h>

#include "brokers/kafka/kafka_client.h"
#include "brokers/kafka/mock_cluster_test_support.h"
#include "brokers/tls_proxy_test_support.h"
#include "store/certificates_test_support.h"
#include "stream/log_conformance.h"

namespace forebay {

namespace {

using conformance::positions_of;
using conformance::read_count;
using conformance::text_of;
using KafkaOptions = std::map<std::string, std::string>;

Result<std::shared_ptr<const RecordLog>> open_kafka(const std::string& broker, const KafkaOptions& options) {
  FOREBAY_ASSIGN(KafkaAddress address, KafkaAddress::parse("kafka://" + broker + "/topic", options));
  return open_kafka_log(std::move(address), RecordFormat::parse("bytes", "").value(), {});
}

class KafkaTlsTest : public testing::Test {
 protected:
  KafkaTlsTest() {
    for (const char* name : {"ca", "other"}) certificates_.make_authority(name);
    certificates_.make("server", "ca", "DNS:localhost,IP:127.0.0.1", 2);
    certificates_.make("elsewhere", "ca", "DNS:elsewhere", 2);
    certificates_.make("expired", "ca", "DNS:localhost,IP:127.0.0.1", -1);
    certificates_.make("client", "ca", "DNS:client", 2);
    certificates_.make("stranger", "other", "DNS:stranger", 2);
  }
  TlsProxy::Files files(const std::string& name) const {
    return {certificates_.file(name + ".pem"), certificates_.file(name + ".key")};
  }
  uint16_t cluster_port() const {
    const std::string broker = cluster_.broker();
    return static_cast<uint16_t>(std::stoi(broker.substr(broker.rfind(':') + 1)));
  }
  KafkaOptions ca(KafkaOptions more = {}) const {
    more.try_emplace("ca_file", certificates_.file("ca.pem"));
    return more;
  }
  static void expect_kafka_refuses(const std::string& broker, const KafkaOptions& options, const std::string& words) {
    const Status status = open_kafka(broker, options).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.to_string();
    EXPECT_NE(status.to_string().find(words), std::string::npos) << status.to_string();
    EXPECT_NE(status.to_string().find(broker == "a:1" ? "" : broker), std::string::npos) << status.to_string();
  }

  TestCertificates certificates_;
  MockCluster cluster_{1};
};

}  // namespace

TEST_F(KafkaTlsTest, ATopicIsReadOverTlsAlsoAcrossBreaks) {
  TlsProxy proxy(files("server"), cluster_port());
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.push_back(std::to_string(i));
  cluster_.append(0, {texts.begin(), texts.begin() + 50});
  const auto log = open_kafka(proxy.address(), ca());
  ASSERT_TRUE(log.ok()) << log.status().to_string();
  const auto reading = (*log)->read_after(positions_of(**log)).value();
  std::vector<LogRecord> records = read_count(*reading, {0}, 50);
  proxy.stop();
  for (int i = 0; i < 300 && reading->trouble().empty(); ++i) ASSERT_TRUE(reading->read({0}, {}, {}).ok());
  EXPECT_NE(reading->trouble(), "");
  cluster_.append(0, {texts.begin() + 50, texts.end()});
  proxy.start();
  for (LogRecord& record : read_count(*reading, {0}, 50)) records.push_back(std::move(record));
  ASSERT_EQ(records.size(), 100u);
  for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(text_of(**log, records[i]), texts[i]);
}

TEST_F(KafkaTlsTest, CertificatesThatProveNothingAreRefusedWithTheWayOut) {
  {
    TlsProxy proxy(files("server"), cluster_port());
    expect_kafka_refuses(proxy.address(), {{"ca_file", certificates_.file("other.pem")}}, "'ca_file': …");
    expect_kafka_refuses(proxy.address(), {{"security_protocol", "SSL"}}, "'ca_file': …");
  }
  {
    TlsProxy proxy(files("elsewhere"), cluster_port());
    expect_kafka_refuses(proxy.address(), ca(), "not for '127.0.0.1'");
  }
  TlsProxy proxy(files("expired"), cluster_port());
  expect_kafka_refuses(proxy.address(), ca(), "out of date");
}

TEST_F(KafkaTlsTest, AClientWithoutTheServersTrustIsToldSo) {
  TlsProxy::Files demanding = files("server");
  demanding.client_authority = certificates_.file("ca.pem");
  TlsProxy proxy(demanding, cluster_port());
  expect_kafka_refuses(proxy.address(), ca(), "'certificate_file': …");
  expect_kafka_refuses(
      proxy.address(),
      ca({{"certificate_file", certificates_.file("stranger.pem")}, {"key_file", certificates_.file("stranger.key")}}),
      "an authority of the server's");
  const auto known = open_kafka(proxy.address(), ca({{"certificate_file", certificates_.file("client.pem")},
                                                     {"key_file", certificates_.file("client.key")}}));
  EXPECT_TRUE(known.ok()) << known.status().to_string();
}

TEST_F(KafkaTlsTest, OptionsBecomeSettingsOfTheLibrary) {
  const auto security = [](const std::string& url, const KafkaOptions& options) {
    const auto address = KafkaAddress::parse(url, options);
    EXPECT_TRUE(address.ok()) << address.status().to_string();
    return address.ok() ? address->security : KafkaOptions();
  };
  EXPECT_EQ(security("kafka://a/t", {}), (KafkaOptions{{"security.protocol", "PLAINTEXT"}}));
  EXPECT_EQ(security("kafka://u:p@a/t", {}), (KafkaOptions{{"security.protocol", "SASL_PLAINTEXT"},
                                                           {"sasl.mechanism", "PLAIN"},
                                                           {"sasl.username", "u"},
                                                           {"sasl.password", "p"}}));
  const KafkaOptions own =
      ca({{"certificate_file", certificates_.file("client.pem")}, {"key_file", certificates_.file("client.key")}});
  EXPECT_EQ(security("kafka://a/t", own), (KafkaOptions{{"security.protocol", "SSL"},
                                                        {"ssl.ca.location", own.at("ca_file")},
                                                        {"ssl.certificate.location", own.at("certificate_file")},
                                                        {"ssl.key.location", own.at("key_file")}}));
  EXPECT_EQ(security("kafka://a/t", ca({{"user", "u"}, {"password", "p"}, {"sasl_mechanism", "SCRAM-SHA-512"}})),
            (KafkaOptions{{"security.protocol", "SASL_SSL"},
                          {"ssl.ca.location", own.at("ca_file")},
                          {"sasl.mechanism", "SCRAM-SHA-512"},
                          {"sasl.username", "u"},
                          {"sasl.password", "p"}}));
}

TEST_F(KafkaTlsTest, TheLibraryTakesAllThatIsOfferedAndRefusesTheRestInItsWords) {
  for (const std::string mechanism : {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}) {
    const auto address = KafkaAddress::parse(
        "kafka://a/t",
        ca({{"security_protocol", "sasl_ssl"}, {"sasl_mechanism", mechanism}, {"user", "u"}, {"password", "p"}}));
    ASSERT_TRUE(address.ok()) << address.status().to_string();
    EXPECT_TRUE(KafkaClient::make(*address, 1).ok()) << mechanism;
  }
  expect_kafka_refuses("a:1", {{"security_protocol", "SSSL"}}, "security.protocol");
  expect_kafka_refuses("a:1", {{"user", "u"}, {"password", "p"}, {"sasl_mechanism", "SCRAM-MD5"}}, "SCRAM-MD5");
  expect_kafka_refuses("a:1", ca({{"security_protocol", "PLAINTEXT"}}), "without TLS");
  expect_kafka_refuses("a:1", ca({{"security_protocol", "SSL"}, {"password", "hunter2"}}), "asks nobody who they are");
  const Status nameless = open_kafka("a:1", {{"password", "hunter2"}}).status();
  EXPECT_EQ(nameless.code(), Code::kInvalidArgument) << nameless.to_string();
  EXPECT_EQ(nameless.to_string().find("hunter2"), std::string::npos) << nameless.to_string();
}

}  // namespace forebay
