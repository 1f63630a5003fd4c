// Tests which hosts are accepted, and by which, if hosts use TLS. transport_conformance_test.cc
// tests that bytes arrive over TLS as without it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "base/eventually_test_support.h"
#include "cluster/http/http_peer_transport.h"
#include "cluster/job_tls_test_support.h"
#include "cluster/peer_store.h"
#include "cluster/transport_conformance.h"
#include "store/http/curl_transport.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

using conformance::kPass;
using conformance::kTexts;
using conformance::TextService;

const JobCertificates& job_certificates() {
  static const JobCertificates made;
  return made;
}

// Makes a transport whose connect timeout suffices on a busy machine.
std::shared_ptr<Transport> patient_transport(std::shared_ptr<const JobTls> tls) {
  return http_peer_transport({.tls = std::move(tls), .connect_timeout = std::chrono::seconds(20)});
}

class PeerTlsTest : public testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_.push_back(line);
    });
    texts_->put("x", "the secret of the job");
  }
  void TearDown() override {
    listening_.reset();
    set_log_sink(nullptr);
  }

  void serve(std::shared_ptr<const JobTls> tls) {
    serving_ = patient_transport(std::move(tls));
    auto listening = serving_->listen("127.0.0.1:0", kPass, {{kTexts, texts_}});
    ASSERT_TRUE(listening.ok()) << listening.status().to_string();
    listening_ = std::move(*listening);
  }
  Result<Buffer> ask(Transport& from, const JobPass& pass = kPass) {
    return call_and_wait(from, {listening_->address(), pass}, kTexts, conformance::bytes_of("x"),
                         {6'000'000, std::chrono::seconds(20)}, {});
  }
  /// Returns the error that a host with `tls` gets. The server refuses it each time and logs the
  /// reason `server_words` once.
  std::string refusal(std::shared_ptr<const JobTls> tls, const std::string& server_words) {
    const auto client_tls = patient_transport(std::move(tls));
    std::string message;
    for (uint64_t i = 1; i <= 3; ++i) {
      const auto answers = ask(*client_tls);
      EXPECT_EQ(answers.status().code(), Code::kInvalidArgument) << answers.status().to_string();
      message = answers.status().message();
      expect_refused(i, server_words);
    }
    return message;
  }
  /// Expects that many refusals, and one line in the log.
  void expect_refused(uint64_t times, const std::string& server_words) {
    // The caller may have its answer before the server has logged anything.
    EXPECT_TRUE(eventually([&] { return listening_->stats().refused >= times && !log().empty(); }));
    EXPECT_EQ(listening_->stats().refused, times);
    EXPECT_EQ(texts_->asked(), 0);
    const std::vector<std::string> lines = log();
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_NE(lines.front().find(server_words), std::string::npos) << lines.front();
  }
  std::vector<std::string> log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  std::string not_taken(const std::string& reason) const {
    return fmt::format("the TLS certificate of {} is not taken (SSL certificate problem: {})", listening_->address(),
                       reason);
  }
  std::string takes_not() const { return listening_->address() + " does not take the TLS certificate of this host ("; }

  const std::shared_ptr<TextService> texts_ = std::make_shared<TextService>();
  std::shared_ptr<Transport> serving_;
  std::unique_ptr<Listening> listening_;
  std::mutex mutex_;
  std::vector<std::string> log_;
};

}  // namespace

TEST_F(PeerTlsTest, HostsOfTheJobAreServedWhateverTheirNames) {
  texts_->put("x", std::string(5'000'001, 'x'));
  serve(job_certificates().tls());
  const Result<Buffer> answer = ask(*patient_transport(job_certificates().tls()));
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(conformance::text_of(*answer), std::string(5'000'001, 'x'));
  EXPECT_TRUE(log().empty());
}

TEST_F(PeerTlsTest, TheTokenIsWantedToo) {
  serve(job_certificates().tls());
  JobPass other = kPass;
  other.token.back() = 'X';
  EXPECT_EQ(ask(*patient_transport(job_certificates().tls()), other).status().message(),
            "it does not take this host's token: give all hosts of the job the same FOREBAY_CLUSTER_TOKEN");
  EXPECT_EQ(texts_->asked(), 0);
}

TEST_F(PeerTlsTest, AHostWithoutTlsIsRefusedByOneWithIt) {
  serve(job_certificates().tls());
  EXPECT_EQ(refusal(nullptr, "refused host 127.0.0.1, which asks without TLS"),
            "it asks for TLS, which this host was given no certificate for");
}

TEST_F(PeerTlsTest, AHostWithTlsIsRefusedByOneWithoutIt) {
  serve(nullptr);
  EXPECT_EQ(
      refusal(job_certificates().tls(), "refused a host that asks over TLS, which this one was given no certificate"),
      listening_->address() + " does not speak TLS, which it is asked over");
}

TEST_F(PeerTlsTest, AForeignHostTrustsNobodyOfTheJob) {
  serve(job_certificates().tls());
  EXPECT_EQ(
      refusal(job_certificates().tls("stranger", "foreign"), "refused host 127.0.0.1, which does not take this host: "),
      not_taken("unable to get local issuer certificate"));
}

TEST_F(PeerTlsTest, AForeignCertificateIsRefused) {
  serve(job_certificates().tls());
  const std::string message =
      refusal(job_certificates().tls("stranger", "ca"),
              "refused host 127.0.0.1, whose certificate is not taken: unable to get local issuer certificate");
  EXPECT_TRUE(message.starts_with(takes_not())) << message;
  EXPECT_NE(message.find("unknown ca"), std::string::npos) << message;
}

TEST_F(PeerTlsTest, ACertificateThatHasExpiredIsRefused) {
  serve(job_certificates().tls());
  const std::string message =
      refusal(job_certificates().tls("expired"),
              "refused host 127.0.0.1, whose certificate is not taken: certificate has expired");
  EXPECT_TRUE(message.starts_with(takes_not())) << message;
  EXPECT_NE(message.find("certificate expired"), std::string::npos) << message;
}

TEST_F(PeerTlsTest, AHostWhoseCertificateHasExpiredIsNotAsked) {
  serve(job_certificates().tls("expired"));
  EXPECT_EQ(refusal(job_certificates().tls(), "refused host 127.0.0.1, which does not take this host: "),
            not_taken("certificate has expired"));
}

TEST_F(PeerTlsTest, AHostWithoutACertificateIsRefused) {
  serve(job_certificates().tls());
  HttpRequest request;
  request.method = "POST";
  request.url = fmt::format("https://{}{}{}", listening_->address(), kServicePath, kTexts);
  auto trusting = std::make_shared<HttpConnectionOptions>();
  trusting->direct = true;
  trusting->verify = false;
  request.connection = trusting;
  const auto transport = curl_transport();
  conformance::Answers<HttpResponse> answers;
  transport->send(std::move(request), {}, answers.take());
  ASSERT_TRUE(answers.wait_for_count(1));
  EXPECT_FALSE(answers.last().ok());
  expect_refused(1, "refused host 127.0.0.1, which shows no certificate");
}

TEST_F(PeerTlsTest, AuthoritiesOfTheSystemVouchForNobody) {
  serve(job_certificates().tls());
  ::setenv("SSL_CERT_FILE", job_certificates().file("ca.pem").c_str(), 1);
  const std::string message = refusal(job_certificates().tls("stranger", "foreign"), "which does not take this host: ");
  ::unsetenv("SSL_CERT_FILE");
  EXPECT_EQ(message, not_taken("unable to get local issuer certificate"));
}

TEST_F(PeerTlsTest, WhatAHostWithoutTlsHasIsLeftToStorage) {
  serve(nullptr);
  const auto store = peer_store(patient_transport(job_certificates().tls()), {listening_->address(), kPass}, {});
  for (int i = 0; i < 3; ++i) {
    ReadRequest request;
    request.key = entry_key({1, 1});
    const Result<Buffer> bytes = read_wait(*store, request, {});
    ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
    EXPECT_TRUE(bytes->empty());
  }
  EXPECT_FALSE(store->may_ask());
  const std::string words =
      fmt::format("peer {0} is backed off for a while ({0} does not speak TLS", listening_->address());
  const std::vector<std::string> lines = log();
  EXPECT_EQ(
      std::ranges::count_if(lines, [&](const std::string& line) { return line.find(words) != std::string::npos; }), 1);
}

}  // namespace forebay
