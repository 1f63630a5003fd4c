#include "stream/broker/broker_options.h"

#include <gtest/gtest.h>

#include <array>

#include "store/certificates_test_support.h"

namespace forebay {

namespace {

using Given = std::map<std::string, std::string>;

Result<BrokerOptions> broker_options(const Given& options, const std::string& url = "rediss://a/s") {
  static constexpr std::array<std::string_view, 1> kOwn = {"server_name"};
  return parse_broker_options(options, parse_broker_url(url, 1).value(), kOwn);
}

void expect_bad_options(const Given& options, const std::string& words, const std::string& url = "rediss://a/s") {
  const Status status = broker_options(options, url).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.to_string();
  EXPECT_NE(status.message().find(words), std::string::npos) << status.to_string();
  EXPECT_EQ(status.message().find("hunter2"), std::string::npos) << status.to_string();
}

}  // namespace

TEST(BrokerOptions, SayWhoAsksAsUrlsDo) {
  const auto from_url = broker_options({}, "rediss://u:p@a/s").value(),
             from_options = broker_options({{"user", "u"}, {"password", "p"}}).value();
  EXPECT_EQ(from_url.user, from_options.user);
  EXPECT_EQ(from_url.password, from_options.password);
  EXPECT_EQ(broker_options({{"password", "p"}}, "rediss://u@a/s").value().user, "u");
  EXPECT_FALSE(from_options.any_tls);
  EXPECT_EQ(broker_options({{"server_name", "b"}}).value().tls.server_name, "b");
  expect_bad_options({{"password", "hunter2"}}, "both give the password", "rediss://u:hunter2@a/s");
  expect_bad_options({{"password", std::string("hunter2\0", 8)}}, "zero byte");
}

TEST(BrokerOptions, NamesThatThereAreNotComeWithTheNearestOne) {
  expect_bad_options({{"cafile", "hunter2"}},
                     "'cafile' (did you mean 'ca_file'?) for rediss://, which has: ca_file, certificate_file, "
                     "key_file, password, server_name, user");
  expect_bad_options({{"token", "hunter2"}}, "no storage option 'token'");
}

TEST(BrokerOptions, FilesThatAreOfNoUseAreNamed) {
  TestCertificates certificates;
  certificates.make_authority("ca");
  certificates.make("mine", "ca", "DNS:mine", 2);
  certificates.make("other", "ca", "DNS:other", 2);
  certificates.lock("mine");
  const auto file = [&](const std::string& name) { return certificates.file(name); };
  EXPECT_TRUE(broker_options(
                  {{"ca_file", file("ca.pem")}, {"certificate_file", file("mine.pem")}, {"key_file", file("mine.key")}})
                  .ok());
  expect_bad_options({{"ca_file", file("none.pem")}}, file("none.pem") + "' cannot be read: No such file");
  expect_bad_options({{"ca_file", file("ca.key")}}, "ca.key' has no certificates in PEM");
  expect_bad_options({{"certificate_file", file("mine.pem")}}, "give both or none");
  expect_bad_options({{"certificate_file", file("mine.pem")}, {"key_file", file("other.key")}},
                     "other.key' is no key in PEM of the certificate");
  expect_bad_options({{"certificate_file", file("mine.key")}, {"key_file", file("mine.key")}},
                     "mine.key' has no certificate in PEM");
  expect_bad_options({{"certificate_file", file("mine.pem")}, {"key_file", file("mine.locked")}},
                     "mine.locked' has a password");
}

}  // namespace forebay
