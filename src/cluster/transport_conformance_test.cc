#include "cluster/transport_conformance.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <thread>

#include "cluster/http/http_peer_transport.h"
#include "cluster/job_tls_test_support.h"
#include "cluster/simulated/simulated_network.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

using conformance::kPass;
using conformance::MemoryKeys;
using conformance::TransportDriver;
using State = AnsweredKey::State;
using FetchAnswers = conformance::Answers<std::vector<AnsweredKey>>;

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
            // Hundreds of handshakes at once, on however busy a machine.
            return http_peer_transport({.tls = certificates.tls(), .connect_timeout = std::chrono::seconds(20)});
          }};
}

/// Answers once it is let go, like a host whose disk hangs.
class HangingKeys : public KeySource {
 public:
  std::optional<Buffer> find(const Hash128&) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return free_; });
    return std::nullopt;
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

  std::unique_ptr<Listening> serve(const std::shared_ptr<KeySource>& keys) {
    auto listening = server_->listen("127.0.0.1:0", kPass, keys);
    EXPECT_TRUE(listening.ok()) << listening.status().to_string();
    return std::move(*listening);
  }
  static Result<std::vector<AnsweredKey>> fetch(Transport& from, const std::string& host, std::vector<WantedKey> wanted,
                                                int deadline_ms = 20'000, const JobPass& pass = kPass) {
    FetchAnswers answers;
    from.fetch({host, pass}, std::move(wanted), std::chrono::milliseconds(deadline_ms), {}, answers.take());
    EXPECT_TRUE(answers.wait_for_count(1));
    return answers.last();
  }

  const std::shared_ptr<Transport> server_ = GetParam().host(), client_ = GetParam().host();
  const std::shared_ptr<MemoryKeys> keys_ = std::make_shared<MemoryKeys>();
};

}  // namespace

TEST_P(TransportTest, BringsWhatIsThereAndSaysWhatIsNot) {
  keys_->put({1, 2}, "some bytes");
  keys_->put({3, 4}, "");
  keys_->put({5, 6}, std::string(100'001, 'x'));
  const auto listening = serve(keys_);
  const auto answers = fetch(*client_, listening->address(),
                             {{{1, 2}, 100}, {{9, 9}, 100}, {{3, 4}, 0}, {{5, 6}, 100'000}, {{5, 6}, 100'001}});
  ASSERT_TRUE(answers.ok()) << answers.status().to_string();
  ASSERT_EQ(answers->size(), 5u);
  EXPECT_EQ((*answers)[0].state, State::kHere);
  EXPECT_EQ(conformance::text_of((*answers)[0].body), "some bytes");
  EXPECT_EQ((*answers)[1].state, State::kAbsent);
  EXPECT_EQ((*answers)[2].state, State::kHere);
  EXPECT_EQ((*answers)[2].bytes, 0u);
  EXPECT_EQ((*answers)[3].state, State::kTooLarge);
  EXPECT_EQ((*answers)[3].bytes, 100'001u);
  EXPECT_EQ(conformance::text_of((*answers)[4].body), std::string(100'001, 'x'));
  const Listening::Stats stats = listening->stats();
  EXPECT_EQ(stats.questions, 1u);
  EXPECT_EQ(stats.keys, 5u);
  EXPECT_EQ(stats.found, 3u) << "one is there and stays there";
  EXPECT_EQ(stats.bytes, 10u + 100'001u);
}

TEST_P(TransportTest, BodiesCanBeUsedInPlace) {
  for (uint64_t i = 0; i < 20; ++i) keys_->put({i, i}, std::string(i * 7, static_cast<char>('a' + i)));
  const auto listening = serve(keys_);
  std::vector<WantedKey> wanted;
  for (uint64_t i = 0; i < 20; ++i) wanted.push_back({{i, i}, 1000});
  const auto answers = fetch(*client_, listening->address(), wanted);
  ASSERT_TRUE(answers.ok());
  for (const AnsweredKey& each : *answers) EXPECT_EQ(reinterpret_cast<uintptr_t>(each.body.data()) % 64, 0u);
}

TEST_P(TransportTest, ManyAtOnceEachGetTheirOwn) {
  for (uint64_t i = 0; i < 200; ++i) keys_->put({i, 0}, std::to_string(i * i));
  const auto listening = serve(keys_);
  std::vector<FetchAnswers> answers(200);
  for (uint64_t i = 0; i < 200; ++i)
    client_->fetch({listening->address(), kPass}, {{{i, 0}, 100}}, std::chrono::seconds(20), {}, answers[i].take());
  for (uint64_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(answers[i].wait_for_count(1));
    ASSERT_TRUE(answers[i].last().ok()) << answers[i].last().status().to_string();
    EXPECT_EQ(conformance::text_of(answers[i].last()->front().body), std::to_string(i * i));
  }
}

TEST_P(TransportTest, WithoutKeysThereIsAnAnswerToo) {
  const auto listening = serve(keys_);
  const auto answers = fetch(*client_, listening->address(), {});
  ASSERT_TRUE(answers.ok()) << answers.status().to_string();
  EXPECT_TRUE(answers->empty());
}

TEST_P(TransportTest, AHostThatIsAwayIsUnavailable) {
  std::string address;
  {
    const auto listening = serve(keys_);
    address = listening->address();
    EXPECT_TRUE(fetch(*client_, address, {{{1, 1}, 1}}).ok());
  }
  const auto answers = fetch(*client_, address, {{{1, 1}, 1}});
  EXPECT_EQ(answers.status().code(), Code::kUnavailable) << answers.status().to_string();
}

TEST_P(TransportTest, AHostThatDoesNotAnswerIsUnavailableAfterTheDeadline) {
  const auto hanging = std::make_shared<HangingKeys>();
  const auto listening = serve(hanging);
  const auto answers = fetch(*client_, listening->address(), {{{1, 1}, 1}}, 100);
  EXPECT_EQ(answers.status().code(), Code::kUnavailable) << answers.status().to_string();
  hanging->let_go();
}

TEST_P(TransportTest, AHostOfWhomNothingComesIsKnownLongBeforeASlowOneHasToBeReady) {
  const auto hanging = std::make_shared<HangingKeys>();
  const auto listening = serve(hanging);
  FetchAnswers answers;
  client_->fetch({listening->address(), kPass}, {{{1, 1}, 1}},
                 AnswerLimits(std::chrono::hours(1), std::chrono::milliseconds(100)), {}, answers.take());
  ASSERT_TRUE(answers.wait_for_count(1));
  EXPECT_EQ(answers.last().status().code(), Code::kUnavailable) << answers.last().status().to_string();
  hanging->let_go();
}

TEST_P(TransportTest, AStopIsAnsweredWithCancelled) {
  const auto hanging = std::make_shared<HangingKeys>();
  const auto listening = serve(hanging);
  FetchAnswers answers;
  std::stop_source stop;
  client_->fetch({listening->address(), kPass}, {{{1, 1}, 1}}, std::chrono::seconds(20), stop.get_token(),
                 answers.take());
  stop.request_stop();
  ASSERT_TRUE(answers.wait_for_count(1));
  EXPECT_EQ(answers.last().status().code(), Code::kCancelled) << answers.last().status().to_string();
  hanging->let_go();
}

TEST_P(TransportTest, ItsEndAnswersWhatIsUnderWay) {
  const auto hanging = std::make_shared<HangingKeys>();
  const auto listening = serve(hanging);
  FetchAnswers answers;
  {
    const auto other = GetParam().host();
    other->fetch({listening->address(), kPass}, {{{1, 1}, 1}}, std::chrono::seconds(20), {}, answers.take());
  }
  EXPECT_EQ(answers.count(), 1u);
  hanging->let_go();
}

TEST_P(TransportTest, AfterItsEndAServerAsksItsKeysNoMore) {
  auto listening = serve(keys_);
  FetchAnswers answers;
  for (uint64_t i = 0; i < 50; ++i)
    client_->fetch({listening->address(), kPass}, {{{i, 0}, 100}}, std::chrono::seconds(20), {}, answers.take());
  listening.reset();
  const int asked = keys_->asked();
  ASSERT_TRUE(answers.wait_for_count(50));
  EXPECT_EQ(keys_->asked(), asked);
}

TEST_P(TransportTest, StrangersAndOldGenerationsAreRefusedAndToldNothing) {
  keys_->put({1, 1}, "secret");
  const auto listening = serve(keys_);
  JobPass other = kPass, old = kPass;
  other.token.back() = 'X';
  --old.generation;
  for (const JobPass& pass : {other, old}) {
    const auto answers = fetch(*client_, listening->address(), {{{1, 1}, 100}}, 20'000, pass);
    EXPECT_EQ(answers.status().code(), Code::kInvalidArgument) << answers.status().to_string();
    EXPECT_EQ(answers.status().to_string().find(kPass.token), std::string::npos);
  }
  EXPECT_EQ(keys_->asked(), 0);
  EXPECT_EQ(listening->stats().refused, 2u);
}

TEST_P(TransportTest, AddressesThatAreNoneAreRefusedByName) {
  for (const std::string address : {"nowhere", "0.0.0.0:0", "", "host:port", "[::]:0", "127.0.0.1:99999"}) {
    const auto listening = server_->listen(address, kPass, keys_);
    ASSERT_FALSE(listening.ok()) << address;
    EXPECT_EQ(listening.status().code(), Code::kInvalidArgument) << listening.status().to_string();
    EXPECT_NE(listening.status().message().find("'" + address + "'"), std::string::npos)
        << listening.status().message();
  }
}

TEST_P(TransportTest, APortThatIsTakenIsUnavailable) {
  const auto first = serve(keys_);
  const auto second = server_->listen(first->address(), kPass, keys_);
  EXPECT_EQ(second.status().code(), Code::kUnavailable) << second.status().to_string();
}

TEST_P(TransportTest, AShortTokenIsRefusedWithoutBeingShown) {
  const auto listening = server_->listen("127.0.0.1:0", {"short", 0}, keys_);
  EXPECT_EQ(listening.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(listening.status().message().find("short"), std::string::npos) << listening.status().message();
}

INSTANTIATE_TEST_SUITE_P(Transports, TransportTest, testing::Values(simulated_driver(), http_driver(), tls_driver()),
                         [](const auto& test) { return test.param.name; });

}  // namespace forebay
