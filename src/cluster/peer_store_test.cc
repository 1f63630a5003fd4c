#include "cluster/peer_store.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "base/eventually_test_support.h"
#include "cluster/http/http_peer_transport.h"
#include "cluster/simulated/simulated_network.h"
#include "cluster/transport_conformance.h"
#include "forebay/stats/store.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

using conformance::kPass;
using conformance::MemoryEntries;
using ReadAnswers = conformance::Answers<Buffer>;

class PeerStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_.push_back(line);
    });
    for (uint64_t i = 0; i < kObjects; ++i) entries_->put(key(i), text(i));
    listening_ = std::move(*network_->transport()->listen("host:1", kPass, conformance::serving(entries_)));
  }
  void TearDown() override { set_log_sink(nullptr); }

  static Hash128 key(uint64_t i) { return {i, ~i}; }
  static std::string text(uint64_t i) { return std::string(1000 + i, static_cast<char>('a' + i % 26)); }
  static ReadRequest request(uint64_t i, std::optional<uint64_t> set_aside = {}) {
    ReadRequest made;
    made.key = entry_key(key(i));
    made.set_aside_bytes = set_aside;
    return made;
  }
  std::shared_ptr<PeerStore> store(PeerStoreOptions options = {}) {
    return peer_store(network_->transport(), {"host:1", kPass}, options);
  }
  static Result<Buffer> read(PeerStore& from, const ReadRequest& what) { return read_wait(from, what, {}); }
  static std::string read_text(PeerStore& from, uint64_t i) {
    const Result<Buffer> bytes = read(from, request(i));
    return bytes.ok() ? conformance::text_of(*bytes) : bytes.status().to_string();
  }
  size_t lines() {
    const std::lock_guard lock(mutex_);
    return log_.size();
  }

  static constexpr uint64_t kObjects = 300;
  const std::shared_ptr<SimulatedNetwork> network_ = SimulatedNetwork::make({});
  const std::shared_ptr<MemoryEntries> entries_ = std::make_shared<MemoryEntries>();
  std::unique_ptr<Listening> listening_;
  std::mutex mutex_;
  std::vector<std::string> log_;
};

}  // namespace

TEST_F(PeerStoreTest, GivesWhatThePeerHasAndNothingElse) {
  const auto peer = store();
  EXPECT_EQ(read_text(*peer, 7), text(7));
  EXPECT_EQ(read_text(*peer, kObjects), "");
  ReadRequest nonsense;
  nonsense.key = "photos/a.jpg";
  EXPECT_TRUE(read(*peer, nonsense)->empty());
  EXPECT_TRUE(peer->may_ask());
  const StoreStats stats = peer->stats();
  EXPECT_EQ(stats.requests, 3u);
  EXPECT_EQ(stats.bytes, text(7).size());
}

TEST_F(PeerStoreTest, AKeyWhoseElementIsNoNumberGivesNothing) {
  const auto peer = store();
  const std::string hash = entry_key(key(7));
  ReadRequest request;
  request.key = hash + "@7";
  EXPECT_EQ(conformance::text_of(*read(*peer, request)), text(7));
  for (const char* const element : {"@", "@7x", "@x", "@99999999999999999999"}) {
    request.key = hash + element;
    EXPECT_TRUE(read(*peer, request)->empty()) << request.key;
  }
}

TEST_F(PeerStoreTest, WhatIsWantedTogetherTravelsTogether) {
  const auto peer = store({.requests = 2, .keys = 64});
  ReadAnswers answers;
  for (uint64_t i = 0; i < kObjects; ++i) peer->read(request(i, 2000), {}, answers.take());
  ASSERT_TRUE(answers.wait_for_count(kObjects));
  for (const Code code : answers.codes()) EXPECT_EQ(code, Code::kOk);
  EXPECT_LT(listening_->stats().calls, kObjects / 4);
  EXPECT_EQ(entries_->found(), kObjects);
}

TEST_F(PeerStoreTest, WhatIsWantedMeanwhileTravelsTogetherBehindTheAnswer) {
  const auto network = SimulatedNetwork::make({}, /*manual=*/true);
  const auto listening = std::move(*network->transport()->listen("host:1", kPass, conformance::serving(entries_)));
  const auto peer = peer_store(network->transport(), {"host:1", kPass}, {.gathering = std::chrono::hours(1)});
  ReadAnswers answers;
  for (uint64_t i = 0; i < 9; ++i) peer->read(request(i, 2000), {}, answers.take());
  for (int i = 0; i < 4; ++i) network->advance(std::chrono::seconds(1));
  ASSERT_TRUE(answers.wait_for_count(9));
  EXPECT_EQ(listening->stats().calls, 2u) << "the first for one key, the second for eight";
}

// No read waits for a late answer: the host has the first entry once the second is requested.
TEST_F(PeerStoreTest, BehindASlowAnswerOthersAreAskedForSoon) {
  class OneNeedsTheOther final : public EntrySource {
   public:
    std::optional<Buffer> entry(const Hash128& wanted) override {
      std::unique_lock lock(mutex_);
      if (wanted == key(1)) {
        other_ = true;
        asked_.notify_all();
      } else if (!asked_.wait_for(lock, std::chrono::seconds(30), [&] { return other_; })) {
        return std::nullopt;
      }
      return Buffer::allocate(10);
    }

   private:
    std::mutex mutex_;
    std::condition_variable asked_;
    bool other_ = false;
  };
  const auto transport = http_peer_transport({});
  const auto listening =
      std::move(*transport->listen("127.0.0.1:0", kPass, conformance::serving(std::make_shared<OneNeedsTheOther>())));
  const auto peer = peer_store(transport, {listening->address(), kPass}, {.deadline = std::chrono::seconds(60)});
  ReadAnswers answers;
  for (uint64_t i = 0; i < 2; ++i) peer->read(request(i, 2000), {}, answers.take());
  ASSERT_TRUE(answers.wait_for_count(2));
  for (const Code code : answers.codes()) EXPECT_EQ(code, Code::kOk);
  EXPECT_EQ(peer->stats().bytes, 20u);
}

TEST_F(PeerStoreTest, OneRequestBringsNoMoreThanItMay) {
  const auto peer = store({.requests = 1, .keys = 64, .bytes = 10'000});
  ReadAnswers answers;
  for (uint64_t i = 0; i < 100; ++i) peer->read(request(i, 2000), {}, answers.take());
  ASSERT_TRUE(answers.wait_for_count(100));
  EXPECT_GE(listening_->stats().calls, 20u) << "five of 2000 bytes each";
}

TEST_F(PeerStoreTest, ALargerEntryTellsItsSizeToWhoSetMemoryAside) {
  const auto peer = store();
  const Result<Buffer> large = read(*peer, request(9, 500));
  EXPECT_EQ(large.status().code(), Code::kOutOfBudget);
  EXPECT_EQ(large.status().bytes_needed(), text(9).size());
  ReadRequest bounded = request(9);
  bounded.expected_size = 500;
  EXPECT_TRUE(read(*peer, bounded)->empty());
  EXPECT_TRUE(peer->may_ask()) << "nothing is wrong with the peer";
}

TEST_F(PeerStoreTest, ADeadPeerCostsOneRequestAndIsLeftOut) {
  const auto peer = store();
  (void)read_text(*peer, 1);  // so that the host was reached
  network_->set_health("host:1", HostHealth::kDead);
  EXPECT_EQ(read_text(*peer, 1), "");
  EXPECT_FALSE(peer->may_ask());
  const int asked = entries_->asked();
  network_->set_health("host:1", HostHealth::kWell);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(read_text(*peer, i), "");
  EXPECT_EQ(entries_->asked(), asked) << "it is not asked while it rests";
  EXPECT_EQ(lines(), 1u);
}

TEST_F(PeerStoreTest, OfAPeerThatDoesNotListenYetTheLogSaysNothing) {
  const auto peer = store();
  network_->set_health("host:1", HostHealth::kDead);
  EXPECT_EQ(read_text(*peer, 1), "");
  EXPECT_FALSE(peer->may_ask());
  EXPECT_EQ(lines(), 0u);
}

TEST_F(PeerStoreTest, AFrozenPeerAnswersEverybodyAtTheDeadline) {
  const auto peer = store({.deadline = std::chrono::milliseconds(50), .requests = 2, .keys = 1});
  network_->set_health("host:1", HostHealth::kFrozen);
  ReadAnswers answers;
  for (uint64_t i = 0; i < 100; ++i) peer->read(request(i), {}, answers.take());
  ASSERT_TRUE(answers.wait_for_count(100)) << "those that waited for a request, too";
  for (const Code code : answers.codes()) EXPECT_EQ(code, Code::kOk);
  EXPECT_FALSE(peer->may_ask());
}

TEST_F(PeerStoreTest, ASlowLinkBringsAllThatIsWantedAtOnce) {
  constexpr uint64_t kWanted = 240, kBytes = 20'000;
  for (uint64_t i = 0; i < kWanted; ++i) entries_->put(key(kObjects + i), std::string(kBytes, static_cast<char>(i)));
  // The entries take two seconds to send, so a deadline of one second for each answer would fail if
  // all were requested at once.
  network_->set_link({.bytes_per_second = kWanted * kBytes / 2});
  const auto peer = store();
  ReadAnswers answers;
  for (uint64_t i = 0; i < kWanted; ++i) peer->read(request(kObjects + i, kBytes), {}, answers.take());
  ASSERT_TRUE(answers.wait_for_count(kWanted));
  for (const Code code : answers.codes()) EXPECT_EQ(code, Code::kOk);
  EXPECT_EQ(peer->stats().bytes, kWanted * kBytes);
  EXPECT_TRUE(peer->may_ask());
  EXPECT_EQ(lines(), 0u);
}

TEST_F(PeerStoreTest, OneLargeEntryHasItsTimeOnASlowLink) {
  entries_->put(key(kObjects), std::string(10 << 20, 'x'));
  network_->set_link({.bytes_per_second = 4 << 20});
  const auto peer = store();
  EXPECT_EQ(read(*peer, request(kObjects, 10 << 20))->size(), size_t{10} << 20);
  EXPECT_TRUE(peer->may_ask());
}

TEST_F(PeerStoreTest, APeerThatComesBackIsUsedAgain) {
  const auto peer = store();
  network_->set_health("host:1", HostHealth::kDead);
  EXPECT_EQ(read_text(*peer, 1), "");
  network_->set_health("host:1", HostHealth::kWell);
  EXPECT_TRUE(eventually([&] { return peer->may_ask(); }));
  EXPECT_EQ(read_text(*peer, 1), text(1));
  EXPECT_EQ(read_text(*peer, 2), text(2));
}

TEST_F(PeerStoreTest, FlippedBitsAreNeverGivenOn) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto peer = store();
    network_->set_link({.seed = seed, .flips = 0.3});
    for (uint64_t i = 0; i < 30; ++i) {
      const std::string got = read_text(*peer, i);
      EXPECT_TRUE(got.empty() || got == text(i)) << seed;
    }
  }
}

TEST_F(PeerStoreTest, ALiarIsLeftOut) {
  const auto peer = store();
  peer->report_mismatch();
  EXPECT_FALSE(peer->may_ask());
  EXPECT_EQ(read_text(*peer, 1), "");
}

TEST_F(PeerStoreTest, ItsEndAnswersWhatIsUnderWay) {
  network_->set_health("host:1", HostHealth::kFrozen);
  ReadAnswers answers;
  {
    const auto peer = store({.deadline = std::chrono::seconds(30), .requests = 1, .keys = 1});
    for (uint64_t i = 0; i < 10; ++i) peer->read(request(i), {}, answers.take());
  }
  EXPECT_EQ(answers.count(), 10u);
  for (const Code code : answers.codes()) EXPECT_EQ(code, Code::kCancelled);
}

TEST_F(PeerStoreTest, AStopIsAnsweredAndSaysNothingOfThePeer) {
  network_->set_health("host:1", HostHealth::kFrozen);
  const auto peer = store({.deadline = std::chrono::seconds(30)});
  std::stop_source stop;
  ReadAnswers answers;
  peer->read(request(1), stop.get_token(), answers.take());
  stop.request_stop();
  ASSERT_TRUE(answers.wait_for_count(1));
  EXPECT_EQ(answers.codes().front(), Code::kCancelled);
  EXPECT_TRUE(peer->may_ask());
}

TEST_F(PeerStoreTest, WhatThePeerIsGoingToMakeIsWaitedForWithoutAThreadOrARequest) {
  constexpr uint64_t kWaiting = 200;
  for (uint64_t i = 0; i < kWaiting; ++i) entries_->announce(static_cast<int64_t>(i), i + 1);
  const auto peer = store({.requests = 1});
  ReadAnswers answers;
  for (uint64_t i = 0; i < kWaiting; ++i) {
    ReadRequest coming;
    coming.key = entry_key({i, 1'000'000 + i}, static_cast<int64_t>(i));
    peer->read(coming, {}, answers.take());
  }
  EXPECT_EQ(read_text(*peer, 7), text(7)) << "what is there goes by";
  EXPECT_EQ(answers.count(), 0u);
  for (uint64_t i = 0; i < kWaiting; ++i) {
    entries_->put({i, 1'000'000 + i}, text(i));
    entries_->come(static_cast<int64_t>(i));
  }
  ASSERT_TRUE(answers.wait_for_count(kWaiting));
  for (const Code code : answers.codes()) EXPECT_EQ(code, Code::kOk);
  EXPECT_EQ(peer->stats().in_flight, 0u);
}

TEST_F(PeerStoreTest, APeerThatStandsStillIsNotWaitedFor) {
  entries_->announce(1, 10);
  const auto peer = store({.patience = {.standstill = std::chrono::milliseconds(50)}});
  ReadRequest coming;
  coming.key = entry_key({1, 1'000'000}, 1);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(read(*peer, coming)->empty());
  EXPECT_TRUE(peer->may_ask()) << "what it has is asked for";
  EXPECT_EQ(read_text(*peer, 7), text(7));
}

TEST_F(PeerStoreTest, WhatIsWaitedForIsGivenUpWithThePeerAndEndsWithTheStore) {
  for (const bool freezes : {true, false}) {
    auto peer = store({.deadline = std::chrono::milliseconds(50)});
    ReadAnswers answers;
    for (int64_t i = 0; i < 20; ++i) {
      entries_->announce(i, 10);
      ReadRequest coming;
      coming.key = entry_key({1, 1'000'000}, i);
      peer->read(coming, {}, answers.take());
    }
    if (freezes) {
      network_->set_health("host:1", HostHealth::kFrozen);
    } else {
      peer.reset();
    }
    ASSERT_TRUE(answers.wait_for_count(20));
    for (const Code code : answers.codes()) EXPECT_EQ(code, freezes ? Code::kOk : Code::kCancelled);
    network_->set_health("host:1", HostHealth::kWell);
  }
}

}  // namespace forebay
