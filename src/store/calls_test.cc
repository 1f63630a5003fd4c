#include "store/calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "forebay/stats/store.h"
#include "store/conformance.h"

namespace forebay {
namespace {

using conformance::Answers;

std::shared_ptr<Call<Buffer>> begin_read(CallTable& calls, Answers<Buffer>& answers, std::stop_token stop = {}) {
  return calls.begin<Buffer>("folder/a.jpg", std::move(stop), answers.take());
}

TEST(CallTable, the_first_answer_counts_and_later_ones_change_nothing) {
  CallTable calls;
  Answers<Buffer> answers;
  const auto call = begin_read(calls, answers);
  EXPECT_FALSE(call->answered());
  EXPECT_TRUE(call->answer(not_found("gone")));
  EXPECT_TRUE(call->answered());
  EXPECT_FALSE(call->answer(Buffer::allocate(3)));
  call->cancel("too late");
  EXPECT_EQ(answers.codes(), std::vector<Code>{Code::kNotFound});
}

TEST(CallTable, a_call_whose_stop_was_requested_before_is_answered_and_never_asked) {
  CallTable calls;
  std::stop_source stop;
  stop.request_stop();
  Answers<Buffer> answers;
  const auto call = begin_read(calls, answers, stop.get_token());
  EXPECT_TRUE(call->answered());
  EXPECT_EQ(answers.last().status().code(), Code::kCancelled);
  EXPECT_EQ(answers.last().status().key(), "folder/a.jpg");
  EXPECT_EQ(answers.last().status().message(), "stopped before the request was sent");
}

TEST(CallTable, a_stop_answers_calls_in_flight_at_once_with_their_names) {
  CallTable calls;
  std::stop_source stop;
  Answers<Buffer> answers, unstopped;
  const auto call = begin_read(calls, answers, stop.get_token()), other = begin_read(calls, unstopped);
  stop.request_stop();
  EXPECT_EQ(answers.codes(), std::vector<Code>{Code::kCancelled});
  EXPECT_EQ(answers.last().status().key(), "folder/a.jpg");
  EXPECT_EQ(unstopped.count(), 0u);
  EXPECT_FALSE(call->answer(Buffer()));
  EXPECT_TRUE(other->answer(Buffer()));
}

TEST(CallTable, close_answers_what_is_in_flight_and_what_comes_later) {
  CallTable calls;
  Answers<Buffer> before, after;
  const auto call = begin_read(calls, before);
  calls.close();
  EXPECT_EQ(before.codes(), std::vector<Code>{Code::kCancelled});
  EXPECT_EQ(before.last().status().message(), "the store was closed");
  EXPECT_TRUE(begin_read(calls, after)->answered());
  EXPECT_EQ(after.codes(), std::vector<Code>{Code::kCancelled});
  calls.close();
}

TEST(CallTable, a_stop_is_no_error_of_the_store) {
  CallTable calls;
  std::stop_source stop;
  Answers<Buffer> answers;
  const auto call = begin_read(calls, answers, stop.get_token());
  stop.request_stop();
  EXPECT_EQ(calls.stats().errors, 0u);
  EXPECT_EQ(calls.stats().in_flight, 0u);
  begin_read(calls, answers)->answer(unavailable("away"));
  EXPECT_EQ(calls.stats().errors, 1u);
}

TEST(CallTable, whoever_gets_an_answer_finds_it_counted) {
  CallTable calls;
  std::optional<StoreStats> seen;
  const auto call = calls.begin<Buffer>("a", {}, [&](Result<Buffer>) { seen = calls.stats(); });
  call->answer(Buffer::allocate(100));
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->in_flight, 0u);
  EXPECT_EQ(seen->bytes, 100u);
  EXPECT_EQ(seen->latency_seconds.count(), 1u);
}

TEST(CallTable, what_an_answer_holds_is_let_go_when_it_was_given) {
  CallTable calls;
  const auto held = std::make_shared<int>(1);
  const auto call = calls.begin<Buffer>("a", {}, [held](Result<Buffer>) {});
  EXPECT_EQ(held.use_count(), 2);
  call->answer(Buffer());
  EXPECT_EQ(held.use_count(), 1) << "though the call itself is still there";
}

TEST(CallTable, close_waits_for_an_answer_that_another_thread_is_giving) {
  CallTable calls;
  std::promise<void> begun, go_on;
  std::atomic<bool> done{false};
  const auto call = calls.begin<Buffer>("a", {}, [&](Result<Buffer>) {
    begun.set_value();
    go_on.get_future().get();
    done = true;
  });
  std::jthread answering([&] { call->answer(Buffer()); });
  begun.get_future().get();
  std::jthread closing([&] {
    calls.close();
    EXPECT_TRUE(done);
  });
  go_on.set_value();
}

TEST(CallTable, close_does_not_wait_for_the_answer_that_closes) {
  CallTable calls;
  bool closed = false;
  const auto outer = calls.begin<Buffer>("outer", {}, [&](Result<Buffer>) {
    const auto inner = calls.begin<Buffer>("inner", {}, [&](Result<Buffer>) {
      calls.close();
      closed = true;
    });
    inner->answer(Buffer());
  });
  outer->answer(Buffer());
  EXPECT_TRUE(closed);
}

// An answer of one store may use and close another.
TEST(CallTable, waits_in_the_answer_of_another_table_for_its_own_calls) {
  CallTable first, second;
  Answers<Buffer> of_second;
  const auto waiting = second.begin<Buffer>("b", {}, of_second.take());
  const auto call = first.begin<Buffer>("a", {}, [&](Result<Buffer>) { second.close(); });
  call->answer(Buffer());
  EXPECT_EQ(of_second.codes(), std::vector<Code>{Code::kCancelled});
  first.close();
}

TEST(CallTable, answers_stops_and_the_end_at_once_give_one_answer_each) {
  for (int round = 0; round < 30; ++round) {
    CallTable calls;
    std::stop_source stop;
    constexpr int kCalls = 40;
    std::vector<std::atomic<int>> answers(kCalls);
    std::vector<std::shared_ptr<Call<Buffer>>> begun;
    for (int i = 0; i < kCalls; ++i)
      begun.push_back(calls.begin<Buffer>("a", stop.get_token(), [&answers, i](Result<Buffer>) { ++answers[i]; }));
    {
      std::jthread working([&] {
        for (const auto& call : begun) call->answer(Buffer());
      });
      std::jthread also_working([&] {
        for (auto call = begun.rbegin(); call != begun.rend(); ++call) (*call)->answer(not_found("b"));
      });
      std::jthread stopping([&] { stop.request_stop(); });
      std::jthread closing([&] { calls.close(); });
    }
    for (const auto& count : answers) ASSERT_EQ(count, 1);
    const StoreStats stats = calls.stats();
    EXPECT_EQ(stats.requests, static_cast<uint64_t>(kCalls));
    EXPECT_EQ(stats.in_flight, 0u);
  }
}

}  // namespace
}  // namespace forebay
