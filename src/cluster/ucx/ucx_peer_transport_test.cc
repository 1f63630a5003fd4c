#include "cluster/ucx/ucx_peer_transport.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "cluster/http/http_peer_transport.h"
#include "cluster/transport_conformance.h"
#include "cluster/ucx/load_active_messages.h"
#include "telemetry/log.h"

#ifdef FOREBAY_WITH_UCX

namespace forebay {

namespace {

using conformance::kPass;
using conformance::MemoryKeys;
using FetchAnswers = conformance::Answers<std::vector<AnsweredKey>>;
using MessageAnswers = conformance::Answers<ActiveMessages::Answer>;

/// HTTP that counts what is asked over it.
class CountedHttp final : public Transport {
 public:
  Result<std::unique_ptr<Listening>> listen(const std::string& address, const JobPass& pass,
                                            std::shared_ptr<KeySource> keys) override {
    return http_->listen(address, pass, std::move(keys));
  }
  void fetch(const PeerHost& host, std::vector<WantedKey> wanted, AnswerLimits limits, std::stop_token stop,
             Done done) override {
    ++asked;
    http_->fetch(host, std::move(wanted), limits, std::move(stop), std::move(done));
  }
  std::atomic<int> asked{0};

 private:
  const std::shared_ptr<Transport> http_ = http_peer_transport();
};

class UcxPeerTest : public testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      logged_ += line + "\n";
    });
    keys_->put({1, 2}, "some bytes");
  }
  void TearDown() override { set_log_sink(nullptr); }

  static std::unique_ptr<Listening> serve(Transport& transport, const std::shared_ptr<KeySource>& keys,
                                          const std::string& address = "127.0.0.1:0") {
    auto listening = transport.listen(address, kPass, keys);
    EXPECT_TRUE(listening.ok()) << listening.status().to_string();
    return std::move(*listening);
  }
  static Result<std::vector<AnsweredKey>> fetch(Transport& from, const std::string& host, Hash128 key = {1, 2},
                                                uint64_t most = 100) {
    FetchAnswers answers;
    from.fetch({host, kPass}, {{key, most}}, std::chrono::seconds(20), {}, answers.take());
    EXPECT_TRUE(answers.wait_for_count(1));
    return answers.last();
  }
  std::string logged() {
    const std::lock_guard lock(mutex_);
    return logged_;
  }

  static Result<ActiveMessages::Answer> ask(ActiveMessages& from, const std::string& card, const std::string& question,
                                            uint64_t most_bytes = 100,
                                            std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    MessageAnswers answers;
    from.ask({.card = card,
              .question = conformance::bytes_of(question),
              .most_bytes = most_bytes,
              .limit = limit,
              .silence = limit},
             answers.take());
    EXPECT_TRUE(answers.wait_for_count(1));
    return answers.last();
  }
  static std::unique_ptr<ActiveMessages> asker(std::chrono::milliseconds idle = std::chrono::seconds(30)) {
    ActiveMessageOptions options;
    options.patience = std::chrono::seconds(5);
    options.idle = idle;
    return std::move(*load_active_messages().value()->open(std::move(options)));
  }

  const std::shared_ptr<MemoryKeys> keys_ = std::make_shared<MemoryKeys>();

 private:
  std::mutex mutex_;
  std::string logged_;
};

}  // namespace

TEST_F(UcxPeerTest, OnlyTheCardComesOverHttp) {
  const auto http = std::make_shared<CountedHttp>();
  const auto server = ucx_peer_transport().value(), client = ucx_peer_transport({.meeting = http}).value();
  const auto listening = serve(*server, keys_);
  for (int i = 0; i < 20; ++i) {
    const auto answers = fetch(*client, listening->address());
    ASSERT_TRUE(answers.ok()) << answers.status().to_string();
    EXPECT_EQ(conformance::text_of(answers->front().body), "some bytes");
  }
  EXPECT_EQ(http->asked, 1);
  EXPECT_EQ(listening->stats().questions, 20u);
}

TEST_F(UcxPeerTest, LongAnswersComeWhole) {
  std::string text(20'000'003, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 2654435761u >> 13);
  keys_->put({3, 4}, text);
  const auto server = ucx_peer_transport().value(), client = ucx_peer_transport().value();
  const auto listening = serve(*server, keys_);
  const auto answers = fetch(*client, listening->address(), {3, 4}, text.size());
  ASSERT_TRUE(answers.ok()) << answers.status().to_string();
  EXPECT_TRUE(conformance::text_of(answers->front().body) == text);
}

TEST_F(UcxPeerTest, AHostThatSpeaksNoneIsAskedOverHttpAndSaidOnce) {
  const auto server = http_peer_transport(), client = ucx_peer_transport().value();
  const auto listening = serve(*server, keys_);
  for (int i = 0; i < 3; ++i) {
    const auto answers = fetch(*client, listening->address());
    ASSERT_TRUE(answers.ok()) << answers.status().to_string();
    EXPECT_EQ(conformance::text_of(answers->front().body), "some bytes");
  }
  const std::string said = logged(), words = "speaks no UCX";
  EXPECT_NE(said.find(words), std::string::npos) << said;
  EXPECT_EQ(said.find(words), said.rfind(words)) << said;
}

TEST_F(UcxPeerTest, AHostThatSpeaksHttpAloneIsAnswered) {
  const auto server = ucx_peer_transport().value();
  const auto client = http_peer_transport();
  const auto listening = serve(*server, keys_);
  const auto answers = fetch(*client, listening->address());
  ASSERT_TRUE(answers.ok()) << answers.status().to_string();
  EXPECT_EQ(conformance::text_of(answers->front().body), "some bytes");
}

TEST_F(UcxPeerTest, AHostThatWasStartedAnewIsFoundAgain) {
  const auto client = ucx_peer_transport().value();
  std::string address;
  {
    const auto server = ucx_peer_transport().value();
    const auto listening = serve(*server, keys_);
    address = listening->address();
    ASSERT_TRUE(fetch(*client, address).ok());
  }
  EXPECT_EQ(fetch(*client, address).status().code(), Code::kUnavailable);
  const auto server = ucx_peer_transport().value();
  const auto listening = serve(*server, keys_, address);
  const auto answers = fetch(*client, address);
  ASSERT_TRUE(answers.ok()) << answers.status().to_string();
  EXPECT_EQ(conformance::text_of(answers->front().body), "some bytes");
}

TEST_F(UcxPeerTest, WhoeverHasNoCardIsNotAnswered) {
  UcxServer server(keys_, {});
  ASSERT_TRUE(server.open(*load_active_messages().value(), "").ok());
  const auto stranger = asker();
  std::string card = server.card();
  card[7] = static_cast<char>(card[7] ^ 1);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(ask(*stranger, card, "?", 100, std::chrono::milliseconds(200)).status().code(), Code::kUnavailable);
  EXPECT_EQ(server.stats().refused, 2u);
  EXPECT_EQ(keys_->asked(), 0);
  const std::string said = logged(), words = "was not given its card";
  EXPECT_NE(said.find(words), std::string::npos) << said;
  EXPECT_EQ(said.find(words), said.rfind(words)) << said;
}

TEST_F(UcxPeerTest, MalformedQuestionsAreRefused) {
  UcxServer server(keys_, {});
  ASSERT_TRUE(server.open(*load_active_messages().value(), "").ok());
  const auto client = asker();
  for (const std::string& question : {std::string(), std::string("?"), std::string(1000, 'x')}) {
    const auto answer = ask(*client, server.card(), question);
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_EQ(answer->code, UcxServer::kMalformed);
  }
  EXPECT_EQ(ask(*client, server.card(), std::string(kMostQuestionBytes + 1, 'x'), 100, std::chrono::milliseconds(200))
                .status()
                .code(),
            Code::kUnavailable);
  EXPECT_EQ(server.stats().refused, 4u);
}

TEST_F(UcxPeerTest, MoreThanWasAskedForIsNotTaken) {
  ActiveMessageOptions options;
  options.secret = std::string(32, 's');
  options.most_question_bytes = 100;
  options.patience = std::chrono::seconds(5);
  options.on_question = [](std::unique_ptr<ActiveMessages::Question> question) {
    const auto bytes =
        static_cast<size_t>(std::stoull(std::string(question->bytes().begin(), question->bytes().end())));
    question->answer(7, {conformance::bytes_of(std::string(bytes, 'a'))});
  };
  const auto liar = std::move(*load_active_messages().value()->open(std::move(options)));
  const auto client = asker();
  for (const uint64_t bytes : {100ull, 100'000ull, 10'000'000ull}) {  // in one message, in several, and announced
    const auto right = ask(*client, liar->card(), std::to_string(bytes), bytes);
    ASSERT_TRUE(right.ok()) << right.status().to_string();
    EXPECT_EQ(right->code, 7u);
    EXPECT_EQ(right->bytes.size(), bytes);
    EXPECT_EQ(ask(*client, liar->card(), std::to_string(bytes + 1), bytes).status().code(), Code::kCorrupt);
  }
}

TEST_F(UcxPeerTest, WhatWasIdleForLongIsConnectedAnew) {
  const std::chrono::milliseconds never = std::chrono::hours(1), soon(10);
  for (const auto& [idle_here, idle_there] : {std::pair(soon, never), std::pair(never, soon)}) {
    ActiveMessageOptions options;
    options.secret = std::string(32, 's');
    options.most_question_bytes = 100;
    options.patience = std::chrono::seconds(5);
    options.idle = idle_there;
    options.on_question = [](std::unique_ptr<ActiveMessages::Question> question) {
      question->answer(7, {conformance::bytes_of("yes")});
    };
    const auto asked = std::move(*load_active_messages().value()->open(std::move(options)));
    const auto client = asker(idle_here);
    for (int i = 0; i < 3; ++i) {
      Result<ActiveMessages::Answer> answer = ask(*client, asked->card(), "?", 100, std::chrono::seconds(2));
      // Where the other end closes first, what is asked meanwhile may be lost, as with a host that goes.
      for (int again = 0; !answer.ok() && idle_there == soon && again < 20; ++again)
        answer = ask(*client, asked->card(), "?", 100, std::chrono::seconds(2));
      ASSERT_TRUE(answer.ok()) << answer.status().to_string();
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
  }
}

TEST_F(UcxPeerTest, AnEndMayGoWhileAnAnswerIsOnItsWayToWhoDoesNotTakeIt) {
  ActiveMessageOptions options;
  options.secret = std::string(32, 's');
  options.most_question_bytes = 100;
  options.patience = std::chrono::seconds(5);
  std::atomic<int> answered{0};
  options.on_question = [&answered](std::unique_ptr<ActiveMessages::Question> question) {
    question->answer(7, {conformance::bytes_of(std::string(question->bytes().size() > 1 ? 64 << 20 : 1, 'a'))});
    ++answered;
  };
  auto asked = std::move(*load_active_messages().value()->open(std::move(options)));
  const std::string card = asked->card();
  const auto client = asker();
  std::atomic<bool> stands{false}, free{false};
  MessageAnswers large;
  client->ask({.card = card,
               .question = conformance::bytes_of("large"),
               .most_bytes = 64 << 20,
               .limit = std::chrono::seconds(20),
               .silence = std::chrono::seconds(20)},
              large.take());
  client->ask({.card = card,
               .question = conformance::bytes_of("s"),
               .most_bytes = 1,
               .limit = std::chrono::seconds(20),
               .silence = std::chrono::seconds(20)},
              [&](Result<ActiveMessages::Answer>) {
                stands = true;
                free.wait(false);  // the client's only thread
              });
  while (answered < 2 || !stands) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  asked.reset();
  free = true;
  free.notify_all();
  ASSERT_TRUE(large.wait_for_count(1));
}

TEST_F(UcxPeerTest, MoreAskersThanConnectionsAreRefusedAndCounted) {
  UcxServer server(keys_, {.most_connections = 1});
  ASSERT_TRUE(server.open(*load_active_messages().value(), "").ok());
  const auto first = asker(), second = asker();
  const Buffer question = encode_question(std::vector<WantedKey>{{{1, 2}, 100}});
  const std::string text(question.data(), question.data() + question.size());
  EXPECT_TRUE(ask(*first, server.card(), text, 1000).ok());
  EXPECT_EQ(ask(*second, server.card(), text, 1000, std::chrono::milliseconds(200)).status().code(),
            Code::kUnavailable);
  EXPECT_EQ(server.stats().refused, 1u);
  EXPECT_NE(logged().find("more askers than it has connections"), std::string::npos) << logged();
}

TEST_F(UcxPeerTest, ItMayEndInsideOfAnAnswer) {
  const auto server = ucx_peer_transport().value();
  const auto listening = serve(*server, keys_);
  for (const bool knows_card : {false, true}) {
    auto client = ucx_peer_transport().value();
    if (knows_card) {
      ASSERT_TRUE(fetch(*client, listening->address()).ok());
    }
    Transport* const asked = client.get();
    FetchAnswers first;
    asked->fetch({listening->address(), kPass}, {{{1, 2}, 100}}, std::chrono::seconds(20), {},
                 [last = std::move(client), answer = first.take()](Result<std::vector<AnsweredKey>> answers) mutable {
                   last.reset();
                   answer(std::move(answers));
                 });
    ASSERT_TRUE(first.wait_for_count(1));
    EXPECT_TRUE(first.last().ok()) << first.last().status().to_string();
  }
}

TEST_F(UcxPeerTest, ACardThatIsNoneIsCorrupt) {
  const auto client = asker();
  EXPECT_EQ(ask(*client, "", "?").status().code(), Code::kCorrupt);
  EXPECT_EQ(ask(*client, std::string(32, 's'), "?").status().code(), Code::kCorrupt);
}

TEST_F(UcxPeerTest, QuestionsBeyondTheLimitAreNotKept) {
  /// Answers nobody before it is let go.
  class Slow final : public KeySource {
   public:
    std::optional<Buffer> find(const Hash128&) override {
      free.wait(false);
      return std::nullopt;
    }
    std::atomic<bool> free{false};
  };
  const auto slow = std::make_shared<Slow>();
  UcxServer server(slow, {.threads = 1, .most_waiting = 3});
  ASSERT_TRUE(server.open(*load_active_messages().value(), "").ok());
  const auto client = asker();
  const std::vector<WantedKey> wanted{{{1, 2}, 100}};
  MessageAnswers answers;
  for (int i = 0; i < 10; ++i)
    client->ask({.card = server.card(),
                 .question = encode_question(wanted),
                 .most_bytes = 1000,
                 .limit = std::chrono::seconds(20),
                 .silence = std::chrono::seconds(20)},
                answers.take());
  while (server.stats().refused < 6) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  slow->free = true;
  slow->free.notify_all();
  EXPECT_TRUE(answers.wait_for_count(3));
  EXPECT_LE(server.stats().refused, 7u) << "one was being answered, or none yet";
}

}  // namespace forebay

#endif
