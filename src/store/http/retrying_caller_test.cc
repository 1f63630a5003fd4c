#include "store/http/retrying_caller.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include <fmt/format.h>

#include "store/conformance.h"
#include "store/http/http_status.h"
#include "store/http/latency_window.h"

namespace forebay {

namespace {

using namespace std::chrono_literals;
using conformance::Answers;

/// A transport that stores requests until the test answers them, or answers them by a function.
class FakeTransport final : public HttpTransport {
 public:
  struct Sent {
    HttpRequest request;
    std::stop_token stop;
    Done done;
  };
  void send(HttpRequest request, std::stop_token stop, Done done) override {
    if (request.observer) request.observer->on_started();
    ++count;
    if (answer) return done(*answer);
    sent.push_back({std::move(request), std::move(stop), std::move(done)});
  }
  void reply(size_t index, Result<HttpResponse> result) { std::exchange(sent[index].done, nullptr)(std::move(result)); }

  int count = 0;
  std::optional<Result<HttpResponse>> answer;
  std::deque<Sent> sent;
};

HttpResponse response(int status, std::vector<HttpHeader> headers = {}) { return {status, std::move(headers), {}}; }

HttpCall read_call(bool hedge = false) {
  HttpCall call;
  call.name = "http://host/x";
  call.make = [](int attempt, HttpCall::MadeRequest made) {
    HttpRequest request;
    request.url = fmt::format("http://host/x?attempt={}", attempt);
    made(std::move(request));
  };
  call.judge = judge_http_status;
  call.hedge = hedge;
  return call;
}

class RetryingCallerTest : public testing::Test {
 protected:
  void TearDown() override {
    caller_.reset();
    transport_->sent.clear();  // their answers hold the transport's owner
  }
  void make(CallerOptions options = {}) {
    options.manual_clock = true;
    if (!options.random) options.random = [] { return 1.0; };
    caller_ = retrying_caller(transport_, options);
  }
  Answers<HttpResponse>& call(bool hedge = false) {
    auto& answers = answers_.emplace_back();
    caller_->call(read_call(hedge), {}, answers.take());
    return answers;
  }
  /// Advances the clock in steps until there is an answer. Returns the time that took.
  std::chrono::nanoseconds until_answered(Answers<HttpResponse>& answers, std::chrono::nanoseconds longest) {
    std::chrono::nanoseconds passed{0};
    for (; answers.count() == 0 && passed < longest; passed += 10ms) caller_->advance(10ms);
    return passed;
  }
  void warm_up(std::chrono::nanoseconds latency) {
    for (int i = 0; i < 128; ++i) {
      call(true);
      caller_->advance(latency);
      transport_->reply(transport_->sent.size() - 1, response(200));
    }
  }

  std::deque<Answers<HttpResponse>> answers_;  // outlives the caller, which answers at its end
  std::shared_ptr<FakeTransport> transport_ = std::make_shared<FakeTransport>();
  std::shared_ptr<RetryingCaller> caller_;
};

}  // namespace

TEST_F(RetryingCallerTest, AnAnswerThatIsFineEndsTheCall) {
  make();
  auto& answers = call();
  transport_->reply(0, response(204));
  ASSERT_EQ(answers.count(), 1u);
  EXPECT_EQ(answers.last()->status, 204);
  EXPECT_EQ(caller_->stats().attempts, 1u);
}

TEST_F(RetryingCallerTest, WaitsLongerBeforeEachAttempt) {
  make();
  auto& answers = call();
  for (const auto wait : {50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 5000ms, 5000ms}) {
    transport_->reply(transport_->sent.size() - 1, unavailable("closed"));
    const int before = transport_->count;
    caller_->advance(wait - 1ns);
    EXPECT_EQ(transport_->count, before) << wait.count();
    caller_->advance(1ns);
    EXPECT_EQ(transport_->count, before + 1) << wait.count();
    EXPECT_EQ(transport_->sent.back().request.url, fmt::format("http://host/x?attempt={}", before));
    if (wait == 50ms) {
      transport_->reply(transport_->sent.size() - 1, response(500));  // it has answered once
      caller_->advance(100ms);
      break;
    }
  }
  transport_->reply(transport_->sent.size() - 1, response(200));
  EXPECT_EQ(answers.codes(), std::vector<Code>{Code::kOk});
  EXPECT_EQ(caller_->stats().retries, 2u);
  EXPECT_EQ(caller_->stats().retries_connection, 1u);
  EXPECT_EQ(caller_->stats().retries_status, 1u);
}

TEST_F(RetryingCallerTest, TheWaitIsDrawnFromZeroToTheLongest) {
  make({.random = [] { return 0.0; }});
  call();
  for (int i = 0; i < 5; ++i) {
    transport_->reply(transport_->sent.size() - 1, response(500));
    caller_->advance(0ns);
  }
  EXPECT_EQ(transport_->count, 6);
}

TEST_F(RetryingCallerTest, ErrorsThatAnotherTryCannotChangeEndTheCall) {
  make();
  transport_->answer = response(404);
  EXPECT_EQ(call().codes(), std::vector<Code>{Code::kNotFound});
  transport_->answer = Result<HttpResponse>(invalid_argument("certificate"));
  EXPECT_EQ(call().codes(), std::vector<Code>{Code::kInvalidArgument});
  EXPECT_EQ(transport_->count, 2);
  EXPECT_EQ(answers_.back().last().status().key(), "http://host/x");
}

TEST_F(RetryingCallerTest, AnOutageOfFiveSecondsIsSurvivedWhateverIsDrawn) {
  for (const double drawn : {0.01, 0.5, 1.0}) {
    make({.random = [drawn] { return drawn; }});
    transport_->answer = response(200);
    call();
    transport_->answer = Result<HttpResponse>(unavailable("refused"));
    for (int i = 0; i < 1000; ++i) call();
    caller_->advance(5s);
    transport_->answer = response(200);
    caller_->advance(6s);
    for (auto& answers : answers_) EXPECT_EQ(answers.codes(), std::vector<Code>{Code::kOk}) << drawn;
    answers_.clear();
  }
}

TEST_F(RetryingCallerTest, AHostThatNeverAnsweredIsGivenUpSoon) {
  make();
  transport_->answer = Result<HttpResponse>(unavailable("nobody there"));
  auto& answers = call();
  EXPECT_LE(until_answered(answers, 60s), 12s);
  EXPECT_EQ(answers.codes(), std::vector<Code>{Code::kUnavailable});
  EXPECT_NE(answers.last().status().message().find("nobody there (8 attempts in 6."), std::string::npos)
      << answers.last().status().message();
}

TEST_F(RetryingCallerTest, ADeadHostIsReportedWithin45Seconds) {
  for (const auto timeout : {10s, 20s}) {
    for (const bool known : {false, true}) {
      make();
      transport_->sent.clear();
      if (known) {
        transport_->answer = response(200);
        call();
        transport_->answer.reset();
      }
      auto& answers = call();
      std::chrono::nanoseconds passed{0}, sent_at{0};
      for (int seen = 0; answers.count() == 0 && passed < 100s; passed += 10ms) {
        if (const int now = static_cast<int>(transport_->sent.size()); now != seen) seen = now, sent_at = passed;
        auto& last = transport_->sent.back();
        const auto within =
            std::min<std::chrono::nanoseconds>(timeout, std::chrono::milliseconds(last.request.first_byte_within_ms));
        if (last.done && passed - sent_at >= within)
          transport_->reply(transport_->sent.size() - 1, unavailable("no answer"));
        caller_->advance(10ms);
      }
      EXPECT_LE(passed, 45s) << timeout.count() << known;
      EXPECT_EQ(answers.codes(), std::vector<Code>{Code::kUnavailable});
    }
  }
}

TEST_F(RetryingCallerTest, RetryAfterIsWaitedForButNotLongerThanIsSensible) {
  make({.random = [] { return 0.0; }});
  auto& answers = call();
  transport_->reply(0, response(503, {{"retry-after", "2"}}));
  caller_->advance(2s - 1ns);
  EXPECT_EQ(transport_->count, 1);
  caller_->advance(1ns);
  ASSERT_EQ(transport_->count, 2);
  transport_->reply(1, response(429, {{"retry-after", "3600"}}));
  caller_->advance(10s);
  ASSERT_EQ(transport_->count, 3);
  transport_->reply(2, response(200));
  EXPECT_TRUE(answers.last().ok());
  EXPECT_EQ(caller_->stats().throttled, 2u);
}

TEST_F(RetryingCallerTest, ThrottlingIsHeard) {
  int heard = 0;
  make({.on_throttled = [&] { ++heard; }});
  call();
  transport_->reply(0, response(503));
  EXPECT_EQ(heard, 1);
  caller_->advance(1s);
  transport_->reply(1, response(500));
  EXPECT_EQ(heard, 1);
}

TEST_F(RetryingCallerTest, WithTheBudgetSpentErrorsGoThroughAndSayWhy) {
  make({.retry_share = 0.1, .retry_tokens = 3});
  transport_->answer = response(500);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call().count(), 0u) << "waits for its second attempt";
  auto& refused = call();
  ASSERT_EQ(refused.codes(), std::vector<Code>{Code::kUnavailable});
  EXPECT_NE(refused.last().status().message().find("more than 10 % of all requests"), std::string::npos);
  EXPECT_EQ(caller_->stats().over_budget, 1u);
  transport_->answer = response(200);
  for (int i = 0; i < 10; ++i) call();
  transport_->answer = response(500);
  EXPECT_EQ(call().count(), 0u) << "ten calls that succeed earn one retry";
}

TEST_F(RetryingCallerTest, CallsThatWereThrottledAndSucceedGiveTheirTokenBack) {
  make({.retry_share = 0, .retry_tokens = 1});
  for (size_t i = 0; i < 5; ++i) {
    auto& answers = call();
    transport_->reply(2 * i, response(503));
    caller_->advance(1s);
    ASSERT_EQ(transport_->sent.size(), 2 * i + 2) << i;
    transport_->reply(2 * i + 1, response(200));
    EXPECT_TRUE(answers.last().ok());
  }
}

TEST_F(RetryingCallerTest, TheSlowTailIsAskedTwiceAndAnswersOnce) {
  make({.hedge_share = 0.03});
  warm_up(30ms);
  auto& answers = call(true);
  const size_t slow = transport_->sent.size() - 1;
  caller_->advance(119ms);  // four times the median
  EXPECT_EQ(transport_->sent.size(), slow + 1);
  caller_->advance(5ms);
  ASSERT_EQ(transport_->sent.size(), slow + 2);
  transport_->reply(slow + 1, response(200));
  EXPECT_EQ(answers.count(), 1u);
  EXPECT_TRUE(transport_->sent[slow].stop.stop_requested()) << "the loser is cancelled";
  transport_->reply(slow, response(200));
  EXPECT_EQ(answers.count(), 1u);
  EXPECT_EQ(caller_->stats().hedges, 1u);
  EXPECT_EQ(caller_->stats().hedges_won, 1u);
}

TEST_F(RetryingCallerTest, ATwinThatFailsDoesNotEndTheCall) {
  make({.hedge_share = 0.03});
  warm_up(30ms);
  auto& answers = call(true);
  const size_t slow = transport_->sent.size() - 1;
  caller_->advance(130ms);
  ASSERT_EQ(transport_->sent.size(), slow + 2);
  transport_->reply(slow + 1, unavailable("closed"));
  caller_->advance(1s);
  EXPECT_EQ(transport_->sent.size(), slow + 2);
  EXPECT_EQ(answers.count(), 0u);
  transport_->reply(slow, response(200));
  EXPECT_EQ(answers.codes(), std::vector<Code>{Code::kOk});
}

TEST_F(RetryingCallerTest, OfManyCallsThatAreSlowFewAreAskedTwiceAtATime) {
  make({.hedge_share = 0.03, .hedge_tokens = 5});
  for (int i = 0; i < 3; ++i) warm_up(30ms);
  for (int i = 0; i < 100; ++i) call(true);
  caller_->advance(10s);
  EXPECT_EQ(caller_->stats().hedges, 5u);
}

// Without this limit, a cache of part of the data set would cause extra reads from storage: 3 % of
// the misses, and 20 for each process, were sent twice.
TEST_F(RetryingCallerTest, OfAllReadsOnePerCentIsAskedTwiceAtMost) {
  make();
  for (uint64_t calls = 1; calls <= 1000; ++calls) {
    call(true);
    // In a queue before busy storage, one request in ten takes much longer than the others.
    caller_->advance(calls % 10 == 0 ? 200ms : 30ms);
    transport_->reply(transport_->sent.size() - 1, response(200));
    EXPECT_LE(caller_->stats().hedges, calls / 100) << calls;
  }
  EXPECT_EQ(caller_->stats().hedges, 10u);
}

TEST_F(RetryingCallerTest, CallsThatAreNeverAskedTwiceEarnNothingForThoseThatAre) {
  make({.hedge_share = 0.5});
  for (int i = 0; i < 128; ++i) {
    call(false);
    caller_->advance(30ms);
    transport_->reply(transport_->sent.size() - 1, response(200));
  }
  call(true);
  caller_->advance(10s);
  EXPECT_EQ(caller_->stats().hedges, 0u);
  call(true);
  caller_->advance(10s);
  EXPECT_EQ(caller_->stats().hedges, 1u);
}

TEST_F(RetryingCallerTest, CallsThatAreNotToBeHedgedAreNot) {
  make();
  warm_up(30ms);
  call(false);
  caller_->advance(10s);
  EXPECT_EQ(caller_->stats().hedges, 0u);
}

TEST_F(RetryingCallerTest, AStopAnswersAtOnceInEveryState) {
  make();
  std::stop_source stop;
  Answers<HttpResponse> in_flight, waiting, before;
  caller_->call(read_call(), stop.get_token(), in_flight.take());
  caller_->call(read_call(), stop.get_token(), waiting.take());
  transport_->reply(1, response(503));
  stop.request_stop();
  EXPECT_EQ(in_flight.codes(), std::vector<Code>{Code::kCancelled});
  EXPECT_EQ(waiting.codes(), std::vector<Code>{Code::kCancelled});
  EXPECT_TRUE(transport_->sent[0].stop.stop_requested());
  caller_->call(read_call(), stop.get_token(), before.take());
  EXPECT_EQ(before.codes(), std::vector<Code>{Code::kCancelled});
  caller_->advance(60s);
  EXPECT_EQ(transport_->count, 2);
  EXPECT_EQ(in_flight.count() + waiting.count() + before.count(), 3u);
}

TEST_F(RetryingCallerTest, TheEndAnswersWhatIsUnderWay) {
  make();
  auto& in_flight = call();
  auto& waiting = call();
  transport_->reply(1, response(503));
  caller_.reset();
  EXPECT_EQ(in_flight.codes(), std::vector<Code>{Code::kCancelled});
  EXPECT_EQ(waiting.codes(), std::vector<Code>{Code::kCancelled});
}

TEST_F(RetryingCallerTest, ARequestThatCannotBeMadeIsAnAttempt) {
  make();
  HttpCall bad = read_call();
  bad.make = [](int attempt, HttpCall::MadeRequest made) {
    made(attempt == 0 ? unavailable("no credentials yet") : invalid_argument("no credentials at all"));
  };
  Answers<HttpResponse> answers;
  caller_->call(std::move(bad), {}, answers.take());
  EXPECT_EQ(answers.count(), 0u);
  caller_->advance(1s);
  EXPECT_EQ(answers.codes(), std::vector<Code>{Code::kInvalidArgument});
}

TEST(RetryAfter, IsSecondsOrADate) {
  const auto now = std::chrono::system_clock::time_point(784111777s);  // Sun, 06 Nov 1994 08:49:37 GMT
  const auto wait = [&](const char* text) { return retry_after(response(503, {{"retry-after", text}}), now); };
  EXPECT_EQ(wait("7"), 7000ms);
  EXPECT_EQ(wait("Sun, 06 Nov 1994 08:49:40 GMT"), 3000ms);
  EXPECT_EQ(wait("Sun, 06 Nov 1994 08:49:00 GMT"), 0ms);
  EXPECT_EQ(wait("99999999999"), std::chrono::hours(24));
  EXPECT_EQ(wait("soon"), std::nullopt);
  EXPECT_EQ(wait("99999999999999999999999"), std::nullopt);
  EXPECT_EQ(retry_after(response(503), now), std::nullopt);
}

TEST(LatencyWindow, KnowsTheTailOfEachSize) {
  LatencyWindow window(0.95);
  EXPECT_EQ(window.recent(1000).has_value(), false);
  for (int i = 0; i < 256; ++i) {
    window.add(1000, std::chrono::milliseconds(i % 100 < 90 ? 10 : 50));
    window.add(8 << 20, 700ms);
  }
  EXPECT_EQ(window.recent(1000)->quantile, 50ms);
  EXPECT_EQ(window.recent(8 << 20)->quantile, 700ms);
  EXPECT_EQ(window.recent(uint64_t{1} << 40).has_value(), false);
}

}  // namespace forebay
