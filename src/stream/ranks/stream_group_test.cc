#include "stream/ranks/stream_group.h"

#include <cstdlib>
#include <future>
#include <iostream>

#include <gtest/gtest.h>

#include "stream/ranks/ranks_test_support.h"
#include "stream/stream_test_support.h"

namespace forebay {
namespace {

// Holds a stream up, with its lock, where it next decides a decision.
class Gate final : public DecisionObserver {
 public:
  void decided(const Decision&) override {
    if (std::exchange(passed_, true)) return;
    came_.set_value();
    open_.get_future().wait_for(kStreamPatience);
  }
  bool wait() { return came_.get_future().wait_for(kStreamPatience) == std::future_status::ready; }
  void open() { open_.set_value(); }

 private:
  std::promise<void> came_, open_;
  bool passed_ = false;
};

class StreamGroupTest : public testing::Test {
 protected:
  void TearDown() override {
    first_->begin_run();  // so that nobody waits for rank 1 to ask for the last decision
    second_->close();
    first_->close();
  }
  /// Before the streams that they decide for go.
  void end(Stream& leads, Stream& follows) {
    for (Stream* const stream : {&leads, &follows}) stream->stop();
    TearDown();
  }

  const std::shared_ptr<SimulatedNetwork> network_ = SimulatedNetwork::make({});
  const std::shared_ptr<StreamGroup> first_ = rank_of(*network_, 0, 2), second_ = rank_of(*network_, 1, 2);
};

// Three threads hold three locks: one retains a record, one makes a decision, and one answers
// another rank.
TEST_F(StreamGroupTest, who_is_asked_for_a_record_goes_on_deciding_and_keeping) {
  const auto log = log_with({100});
  AwaitedStream stream(log, decisions_of(10));
  first_->lead_or_follow(stream);
  const auto kept = std::make_shared<ReplayRecords>(log, ReplayRecordsOptions{.share = {0, 2}});
  first_->serve_replay(kept);
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 10));

  const auto gate = std::make_shared<Gate>();
  stream.set_observer(gate, 1000);
  auto knows = std::async(std::launch::async, [&] { return wait_known(stream, 20); });
  ASSERT_TRUE(gate->wait());
  auto keeps = std::async(std::launch::async, [&] { return kept->retain(stream, std::vector<int64_t>{0}, 10).ok(); });
  let_others_run();  // so that it waits for the stream
  auto asks =
      std::async(std::launch::async, [&] { return second_->ask(RankRequest::Kind::kReplayRecords, 0, {{0, 4}}, {}); });
  let_others_run();  // so that the question is there
  gate->open();
  if (knows.wait_for(2 * kStreamPatience) != std::future_status::ready ||
      keeps.wait_for(kStreamPatience) != std::future_status::ready) {
    std::cerr << "each waits for a lock that another one holds: nobody could be joined\n";
    std::abort();
  }
  EXPECT_TRUE(knows.get());
  EXPECT_TRUE(keeps.get());
  (void)asks.get();  // on a busy machine it may come too late
  stream.stop();
  second_->close();
  first_->begin_run();
  first_->close();
}

TEST_F(StreamGroupTest, a_rank_that_has_another_run_than_rank_0_is_told_what_differs) {
  const auto log = log_with({100});
  AwaitedStream leads(log, decisions_of(10)), follows(log, decisions_of(10));
  first_->job()->set_run({{{"seed", "7"}, {"batch size", "5"}}});
  second_->job()->set_run({{{"seed", "8"}, {"batch size", "5"}}});
  for (const auto& [rank, stream] : {std::pair(first_, &leads), {second_, &follows}}) rank->lead_or_follow(*stream);
  leads.seek(leads.beginning());
  EXPECT_TRUE(wait_known(leads, 10));
  for (int times = 0; times < 2; ++times) {  // also after it has gone elsewhere
    if (times > 0) second_->begin_run();
    follows.seek(follows.beginning());
    EXPECT_FALSE(wait_known(follows, 10));
    EXPECT_EQ(follows.failure().code(), Code::kStateMismatch);
  }
  EXPECT_EQ(follows.failure().message(),
            "rank 1 has other settings than rank 0: seed=8 (rank 0: 7); give all ranks the same");
  end(leads, follows);
}

TEST_F(StreamGroupTest, ranks_begin_where_the_log_ended_for_rank_0) {
  const auto log = log_with({100, 0});
  StreamOptions options = decisions_of(4);
  options.from_now = true;
  AwaitedStream leads(log, options), follows(log, options);
  first_->lead_or_follow(leads);
  second_->lead_or_follow(follows);
  for (Stream* const stream : {&leads, &follows}) stream->seek(stream->beginning());
  EXPECT_FALSE(leads.request(4));
  ASSERT_TRUE(log->wait_idle(2)) << "it has begun";
  log->append(0, 6);
  log->append(1, 6);
  ASSERT_TRUE(wait_known(leads, 12));
  ASSERT_TRUE(wait_known(follows, 12)) << follows.failure().to_string();
  EXPECT_EQ(keys(follows, 0, 12), keys(leads, 0, 12));
  for (const int64_t number : {2, 4}) EXPECT_EQ(follows.place(number), leads.place(number)) << number;
  end(leads, follows);
}

// The decision of a state is not reported to other ranks, so the rank that decides must not skip
// it.
TEST_F(StreamGroupTest, ranks_that_cannot_wait_go_on_inside_a_decision_with_the_rest_of_it) {
  const auto log = log_with({12});
  StreamOptions options = decisions_of(12);
  options.on_underrun = OnUnderrun::kRepeat;
  AwaitedStream before(log, options), leads(log, options), follows(log, options);
  before.seek(before.beginning());
  ASSERT_TRUE(wait_known(before, 12));
  first_->lead_or_follow(leads);
  second_->lead_or_follow(follows);
  for (AwaitedStream* const stream : {&leads, &follows}) {
    stream->seek(before.place(5));
    EXPECT_FALSE(stream->decide_now(8));
  }
  for (AwaitedStream* const stream : {&leads, &follows}) {
    ASSERT_TRUE(wait_known(*stream, 12)) << stream->awaited();
    EXPECT_EQ(keys(*stream, 5, 12), keys(before, 5, 12));
  }
  EXPECT_TRUE(leads.decide_now(14));
  ASSERT_TRUE(wait_known(follows, 14)) << follows.awaited();
  EXPECT_EQ(follows.missing(0, 14), (std::vector<int64_t>{12, 13}));
  end(leads, follows);
}

// So that a state of any rank that is made before the first batch says where the run begins.
TEST_F(StreamGroupTest, who_follows_knows_where_the_run_begins_before_anything_is_read) {
  const auto log = log_with({100, 0});
  StreamOptions options = decisions_of(4);
  options.from_now = true;
  AwaitedStream leads(log, options), follows(log, options);
  first_->lead_or_follow(leads);
  second_->lead_or_follow(follows);
  for (const auto& ranks : {first_, second_}) ranks->begin_run();
  follows.seek(follows.beginning());
  EXPECT_FALSE(follows.await_beginning(20ms, {})) << "rank 0 has not begun";
  StreamPlace from = leads.beginning();
  from.after = *log->ends({});
  from.began_at_log_end = true;
  leads.seek(from);
  ASSERT_TRUE(follows.await_beginning(kStreamPatience, {}));
  EXPECT_EQ(follows.place(0), from);
  log->append(0, 2);
  log->append(1, 2);
  ASSERT_TRUE(wait_known(leads, 4));
  ASSERT_TRUE(wait_known(follows, 4)) << follows.awaited();
  EXPECT_EQ(keys(follows, 0, 4), keys(leads, 0, 4));
  end(leads, follows);
}

TEST_F(StreamGroupTest, rank_0_stays_until_the_others_know_where_the_run_begins) {
  const auto log = log_with({100});
  StreamOptions options = decisions_of(4);
  options.from_now = true;
  AwaitedStream leads(log, options), follows(log, options);
  first_->lead_or_follow(leads);
  second_->lead_or_follow(follows);
  for (const auto& ranks : {first_, second_}) ranks->begin_run();
  StreamPlace from = leads.beginning();
  from.after = *log->ends({});
  from.began_at_log_end = true;
  leads.seek(from);
  auto closes = std::async(std::launch::async, [&] { first_->close(); });
  let_others_run();  // so that it closes before it is asked
  follows.seek(follows.beginning());
  EXPECT_TRUE(follows.await_beginning(kStreamPatience, {}));
  EXPECT_EQ(follows.place(0), from);
  closes.get();
  second_->close();
  for (Stream* const stream : {&leads, &follows}) stream->stop();
}

// The groups of one rank for two streams, over one job.
struct TwoStreams {
  TwoStreams(SimulatedNetwork& network, int rank) {
    const std::vector<std::string> addresses = rank_addresses(2);
    const auto way = static_rendezvous(addresses, kRanksPass.token, kRanksPass.generation);
    const auto a = std::make_shared<StreamService>(), b = std::make_shared<StreamService>();
    const std::shared_ptr<Job> job = *Job::open({.transport = network.transport(),
                                                 .rank = rank,
                                                 .own = {addresses[static_cast<size_t>(rank)], kRanksPass},
                                                 .services = {{"a", a}, {"b", b}}},
                                                *way, {});
    job->set_run({{{"seed", "7"}}});
    groups = {std::make_shared<StreamGroup>(job, a, "a"), std::make_shared<StreamGroup>(job, b, "b")};
    for (size_t i = 0; i < 2; ++i) {
      groups[i]->lead_or_follow(*streams[i]);
      groups[i]->begin_run();
      streams[i]->seek(streams[i]->beginning());
    }
  }

  const std::vector<std::shared_ptr<AwaitedStream>> streams = {
      std::make_shared<AwaitedStream>(log_with({100, 100}), decisions_of(10)),
      std::make_shared<AwaitedStream>(log_with({30, 90, 40}), decisions_of(4))};
  std::vector<std::shared_ptr<StreamGroup>> groups;
};

TEST(StreamGroups, a_rank_that_has_left_all_streams_answers_the_others_until_it_closes_them) {
  const std::shared_ptr<SimulatedNetwork> network = SimulatedNetwork::make({});
  const TwoStreams leads(*network, 0), follows(*network, 1);
  for (const auto& stream : leads.streams) ASSERT_TRUE(wait_known(*stream, 40));
  for (const auto& group : leads.groups) group->leave();
  for (const size_t i : {0, 1}) {
    ASSERT_TRUE(wait_known(*follows.streams[i], 40)) << follows.streams[i]->failure().to_string();
    EXPECT_EQ(keys(*follows.streams[i], 0, 40), keys(*leads.streams[i], 0, 40));
  }
  for (const TwoStreams* rank : {&follows, &leads}) {
    for (const auto& group : rank->groups) group->close();
    for (const auto& stream : rank->streams) stream->stop();
  }
}

TEST(StreamGroups, ranks_follow_two_streams_over_one_job_and_one_of_them_may_end) {
  const std::shared_ptr<SimulatedNetwork> network = SimulatedNetwork::make({});
  const TwoStreams leads(*network, 0), follows(*network, 1);
  for (const size_t i : {0, 1}) {
    ASSERT_TRUE(wait_known(*leads.streams[i], 40));
    ASSERT_TRUE(wait_known(*follows.streams[i], 40)) << follows.streams[i]->failure().to_string();
    EXPECT_EQ(keys(*follows.streams[i], 0, 40), keys(*leads.streams[i], 0, 40));
  }
  for (const TwoStreams* rank : {&follows, &leads}) {
    rank->groups[0]->close();
    rank->streams[0]->stop();
  }
  ASSERT_TRUE(wait_known(*leads.streams[1], 120));
  ASSERT_TRUE(wait_known(*follows.streams[1], 120)) << follows.streams[1]->failure().to_string();
  EXPECT_EQ(keys(*follows.streams[1], 0, 120), keys(*leads.streams[1], 0, 120));
  for (const TwoStreams* rank : {&follows, &leads}) {
    rank->groups[1]->close();
    rank->streams[1]->stop();
  }
}

}  // namespace
}  // namespace forebay
