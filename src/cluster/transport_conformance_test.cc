#include "cluster/transport_conformance.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "cluster/http/http_peer_transport.h"
#include "cluster/job_tls_test_support.h"
#include "cluster/simulated/simulated_network.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

using conformance::bytes_of;
using conformance::kPass;
using conformance::kTexts;
using conformance::text_of;
using conformance::TextService;
using conformance::TransportDriver;
using CallAnswers = conformance::Answers<Buffer>;

TransportDriver simulated_driver() {
  return {"Simulated", [] {
            static const auto network = SimulatedNetwork::make({});
            return network->transport();
          }};
}

TransportDriver http_driver() {
  return {"Http", [] { return http_peer_transport(); }};
}

TransportDriver tls_driver() {
  return {"Tls", [] {
            static const JobCertificates certificates;
            // Allows for hundreds of handshakes at once on a busy machine.
            return http_peer_transport({.server = {.patience = std::chrono::seconds(20)},
                                        .tls = certificates.tls(),
                                        .connect_timeout = std::chrono::seconds(20)});
          }};
}

/// Answers only after it is released, like a host whose disk hangs.
class HangingService : public Service {
 public:
  Result<Response> answer(std::span<const uint8_t>) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return free_; });
    return Response();
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    free_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool free_ = false;
};

class TransportTest : public testing::TestWithParam<TransportDriver> {
 protected:
  void SetUp() override {
    set_log_sink([](const std::string&) {});
  }
  void TearDown() override { set_log_sink(nullptr); }

  std::unique_ptr<Listening> serve(const std::shared_ptr<Service>& service) {
    auto listening = server_->listen("127.0.0.1:0", kPass, {{kTexts, service}});
    EXPECT_TRUE(listening.ok()) << listening.status().to_string();
    return std::move(*listening);
  }
  static Result<Buffer> call(Transport& from, const std::string& host, const std::string& request,
                             uint64_t most_bytes = 1 << 20, const JobPass& pass = kPass,
                             const std::string& service = kTexts) {
    return call_and_wait(from, {host, pass}, service, bytes_of(request), {most_bytes, kPatience}, {});
  }

  static constexpr std::chrono::seconds kPatience{20};
  const std::shared_ptr<Transport> server_ = GetParam().host(), client_ = GetParam().host();
  const std::shared_ptr<TextService> texts_ = std::make_shared<TextService>();
};

}  // namespace

TEST_P(TransportTest, BringsTheWholeResponseOfTheServiceThatIsCalled) {
  texts_->put("short", "some bytes");
  texts_->put("", "");
  texts_->put("long", std::string(100'001, 'x'));
  const auto listening = serve(texts_);
  for (const auto& [request, text] :
       std::map<std::string, std::string>{{"short", "some bytes"}, {"", ""}, {"long", std::string(100'001, 'x')}}) {
    const Result<Buffer> response = call(*client_, listening->address(), request);
    ASSERT_TRUE(response.ok()) << response.status().to_string();
    EXPECT_EQ(text_of(*response), text);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(response->data()) % 64, 0u) << "can be used in place";
  }
  EXPECT_EQ(listening->stats().calls, 3u);
  EXPECT_EQ(listening->stats().bytes, 10u + 100'001u);
}

TEST_P(TransportTest, EachServiceHasItsOwnName) {
  const auto others = std::make_shared<TextService>();
  texts_->put("x", "of texts");
  others->put("x", "of others");
  const auto listening = std::move(*server_->listen("127.0.0.1:0", kPass, {{kTexts, texts_}, {"others", others}}));
  EXPECT_EQ(text_of(*call(*client_, listening->address(), "x")), "of texts");
  EXPECT_EQ(text_of(*call(*client_, listening->address(), "x", 100, kPass, "others")), "of others");
  for (const std::string unknown : {"", "text", "texts2", "../texts"}) {
    const Result<Buffer> response = call(*client_, listening->address(), "x", 100, kPass, unknown);
    EXPECT_EQ(response.status().code(), Code::kInvalidArgument) << unknown << response.status().to_string();
  }
}

TEST_P(TransportTest, ManyAtOnceEachGetTheirOwn) {
  for (int i = 0; i < 200; ++i) texts_->put(std::to_string(i), std::to_string(i * i));
  const auto listening = serve(texts_);
  std::vector<CallAnswers> answers(200);
  for (size_t i = 0; i < 200; ++i)
    client_->call({listening->address(), kPass}, kTexts, bytes_of(std::to_string(i)), {100, kPatience}, {},
                  answers[i].take());
  for (size_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(answers[i].wait_for_count(1));
    ASSERT_TRUE(answers[i].last().ok()) << answers[i].last().status().to_string();
    EXPECT_EQ(text_of(*answers[i].last()), std::to_string(i * i));
  }
}

TEST_P(TransportTest, ARequestThatTheServiceDoesNotTakeIsRefused) {
  const auto listening = serve(texts_);
  const Result<Buffer> response = call(*client_, listening->address(), "nobody has put this");
  EXPECT_EQ(response.status().code(), Code::kInvalidArgument) << response.status().to_string();
  EXPECT_EQ(listening->stats().refused, 1u);
  EXPECT_EQ(listening->stats().calls, 0u);
}

TEST_P(TransportTest, RequestsAndResponsesHaveALongestLength) {
  const std::string longest(kMaxRequestBytes, 'r');
  texts_->put(longest, std::string(1000, 'a'));
  texts_->put(longest + "r", "never");
  const auto listening = serve(texts_);
  EXPECT_EQ(call(*client_, listening->address(), longest, 1000)->size(), 1000u);
  EXPECT_EQ(call(*client_, listening->address(), longest, 999).status().code(), Code::kCorrupt);
  EXPECT_EQ(call(*client_, listening->address(), longest + "r").status().code(), Code::kInvalidArgument);
}

TEST_P(TransportTest, AHostThatIsAwayIsUnavailable) {
  std::string address;
  {
    texts_->put("x", "there");
    const auto listening = serve(texts_);
    address = listening->address();
    EXPECT_TRUE(call(*client_, address, "x").ok());
  }
  const auto answers = call(*client_, address, "x");
  EXPECT_EQ(answers.status().code(), Code::kUnavailable) << answers.status().to_string();
}

TEST_P(TransportTest, AHostThatDoesNotAnswerIsUnavailableAfterTheDeadline) {
  const auto hanging = std::make_shared<HangingService>();
  const auto listening = serve(hanging);
  const auto answers =
      call_and_wait(*client_, {listening->address(), kPass}, kTexts, {}, {1, std::chrono::milliseconds(100)}, {});
  EXPECT_EQ(answers.status().code(), Code::kUnavailable) << answers.status().to_string();
  hanging->let_go();
}

TEST_P(TransportTest, AHostOfWhomNothingComesIsKnownLongBeforeASlowOneHasToBeReady) {
  const auto hanging = std::make_shared<HangingService>();
  const auto listening = serve(hanging);
  CallAnswers answers;
  client_->call({listening->address(), kPass}, kTexts, {}, {1, std::chrono::hours(1), std::chrono::milliseconds(100)},
                {}, answers.take());
  ASSERT_TRUE(answers.wait_for_count(1));
  EXPECT_EQ(answers.last().status().code(), Code::kUnavailable) << answers.last().status().to_string();
  hanging->let_go();
}

TEST_P(TransportTest, AStopIsAnsweredWithCancelled) {
  const auto hanging = std::make_shared<HangingService>();
  const auto listening = serve(hanging);
  CallAnswers answers;
  std::stop_source stop;
  client_->call({listening->address(), kPass}, kTexts, {}, {1, kPatience}, stop.get_token(), answers.take());
  stop.request_stop();
  ASSERT_TRUE(answers.wait_for_count(1));
  EXPECT_EQ(answers.last().status().code(), Code::kCancelled) << answers.last().status().to_string();
  hanging->let_go();
}

TEST_P(TransportTest, ItsEndAnswersWhatIsUnderWay) {
  const auto hanging = std::make_shared<HangingService>();
  const auto listening = serve(hanging);
  CallAnswers answers;
  {
    const auto other = GetParam().host();
    other->call({listening->address(), kPass}, kTexts, {}, {1, kPatience}, {}, answers.take());
  }
  EXPECT_EQ(answers.count(), 1u);
  hanging->let_go();
}

TEST_P(TransportTest, AfterItsEndAListenerCallsNoService) {
  auto listening = serve(texts_);
  CallAnswers answers;
  for (uint64_t i = 0; i < 50; ++i)
    client_->call({listening->address(), kPass}, kTexts, bytes_of(std::to_string(i)), {100, kPatience}, {},
                  answers.take());
  listening.reset();
  const int asked = texts_->asked();
  ASSERT_TRUE(answers.wait_for_count(50));
  EXPECT_EQ(texts_->asked(), asked);
}

TEST_P(TransportTest, StrangersAndOldGenerationsAreRefusedAndToldNothing) {
  texts_->put("x", "secret");
  const auto listening = serve(texts_);
  JobPass other = kPass, old = kPass;
  other.token.back() = 'X';
  --old.generation;
  for (const JobPass& pass : {other, old}) {
    const auto answers = call(*client_, listening->address(), "x", 100, pass);
    EXPECT_EQ(answers.status().code(), Code::kInvalidArgument) << answers.status().to_string();
    EXPECT_EQ(answers.status().to_string().find(kPass.token), std::string::npos);
  }
  EXPECT_EQ(texts_->asked(), 0);
  EXPECT_EQ(listening->stats().refused, 2u);
}

TEST_P(TransportTest, AddressesThatAreNoneAreRefusedByName) {
  for (const std::string address : {"nowhere", "0.0.0.0:0", "", "host:port", "[::]:0", "127.0.0.1:99999"}) {
    const auto listening = server_->listen(address, kPass, {{kTexts, texts_}});
    ASSERT_FALSE(listening.ok()) << address;
    EXPECT_EQ(listening.status().code(), Code::kInvalidArgument) << listening.status().to_string();
    EXPECT_NE(listening.status().message().find("'" + address + "'"), std::string::npos)
        << listening.status().message();
  }
}

TEST_P(TransportTest, APortThatIsTakenIsUnavailable) {
  const auto first = serve(texts_);
  const auto second = server_->listen(first->address(), kPass, {{kTexts, texts_}});
  EXPECT_EQ(second.status().code(), Code::kUnavailable) << second.status().to_string();
}

TEST_P(TransportTest, AShortTokenIsRefusedWithoutBeingShown) {
  const auto listening = server_->listen("127.0.0.1:0", {"short", 0}, {{kTexts, texts_}});
  EXPECT_EQ(listening.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(listening.status().message().find("short"), std::string::npos) << listening.status().message();
}

INSTANTIATE_TEST_SUITE_P(Transports, TransportTest, testing::Values(simulated_driver(), http_driver(), tls_driver()),
                         [](const auto& test) { return test.param.name; });

}  // namespace forebay
