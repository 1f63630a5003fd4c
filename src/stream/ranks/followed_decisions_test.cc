#include "stream/ranks/followed_decisions.h"

#include <gtest/gtest.h>

#include "stream/manual_clock_test_support.h"
#include "stream/ranks/ranks_test_support.h"
#include "stream/ranks/request_pauses.h"
#include "stream/stream_test_support.h"

namespace forebay {
namespace {

// What rank 0 of three says, and one of those who follow it.
class FollowedDecisionsTest : public testing::Test {
 protected:
  struct Follower {
    Follower(FollowedDecisionsTest& test, int rank)
        : stream(log_with({100}), decisions_of(10)),
          job(rank_job(*test.network_, rank, 3, std::make_shared<StreamService>())) {
      job->set_run({});
      decisions = std::make_shared<FollowedDecisions>(job, stream, std::string(kStreamServiceName), test.clock_);
      stream.set_guide(decisions);
    }
    ~Follower() { decisions->stop(); }
    void begin(uint64_t seeks) {
      decisions->begin_run(seeks);
      stream.seek(stream.beginning());
    }
    // Waits until the follower says that it waits for this.
    bool waits_for(const std::string& words) {
      return becomes([&] { return stream.awaited().find(words) != std::string::npos; });
    }
    AwaitedStream stream;
    const std::shared_ptr<Job> job;
    std::shared_ptr<FollowedDecisions> decisions;
  };

  void SetUp() override {
    service_->set_rank(0, 3);
    leader_->set_run({});
  }
  void decide(int64_t decision) {
    service_->decided({10 * decision, {{0, std::to_string(10 * decision + 10), 10, 0}}, 0});
  }

  ManualClock clock_;
  const std::shared_ptr<SimulatedNetwork> network_ = SimulatedNetwork::make({});
  const std::shared_ptr<StreamService> service_ = std::make_shared<StreamService>();
  const std::shared_ptr<Job> leader_ = rank_job(*network_, 0, 3, service_);
};

TEST_F(FollowedDecisionsTest, ranks_that_stay_at_different_places_are_told_so) {
  service_->begin_run(1);
  Follower follower(*this, 1);
  follower.begin(2);
  EXPECT_FALSE(follower.stream.request(10));
  ASSERT_TRUE(follower.waits_for("loaded a state"));
  clock_.advance(kLongestSilence + 1ms);
  EXPECT_FALSE(wait_known(follower.stream, 10));
  EXPECT_EQ(follower.stream.failure().code(), Code::kStateMismatch);
  EXPECT_EQ(
      follower.stream.failure().message(),
      "rank 0, which decides what comes next, is elsewhere: it has loaded a state 0 time(s), and rank 1 1 time(s): "
      "load the same states on all ranks, and start all again where one is");
  service_->begin_run(3);
  decide(0);
  follower.begin(3);
  EXPECT_TRUE(wait_known(follower.stream, 10)) << follower.stream.failure().to_string();
}

TEST_F(FollowedDecisionsTest, who_is_first_to_load_a_state_waits_for_rank_0_to_do_so) {
  service_->begin_run(1);
  Follower follower(*this, 1);
  follower.begin(2);
  EXPECT_FALSE(follower.stream.request(10));
  ASSERT_TRUE(follower.waits_for("loaded a state"));
  EXPECT_EQ(follower.stream.awaited(),
            "rank 0: it has loaded a state 0 time(s), and rank 1 1 time(s): "
            "load the same states on all ranks, and start all again where one is");
  service_->begin_run(2);
  decide(0);
  EXPECT_TRUE(wait_known(follower.stream, 10)) << follower.stream.failure().to_string();
}

TEST_F(FollowedDecisionsTest, a_rank_that_is_started_again_alone_is_told_that_rank_0_has_gone_on) {
  service_->begin_run(1);
  for (int64_t decision = 0; decision < 3; ++decision) decide(decision);
  {
    Follower first(*this, 1), second(*this, 2);
    for (Follower* const one : {&first, &second}) {
      one->begin(1);
      ASSERT_TRUE(wait_known(one->stream, 30)) << one->stream.failure().to_string();
    }
  }
  Follower again(*this, 1);
  again.begin(1);
  EXPECT_FALSE(wait_known(again.stream, 10));
  EXPECT_EQ(again.stream.failure().code(), Code::kStateMismatch);
  EXPECT_EQ(
      again.stream.failure().message(),
      "rank 0 has no batch (or window) that begins with record 0, of which rank 1 would go on, any more: start all "
      "ranks again, from one state");
}

TEST_F(FollowedDecisionsTest, a_rank_0_that_stays_silent_ends_the_run_of_those_who_follow) {
  service_->begin_run(1);
  decide(0);
  Follower follower(*this, 1);
  follower.begin(1);
  ASSERT_TRUE(wait_known(follower.stream, 10));
  network_->set_health(rank_addresses(3)[0], HostHealth::kDead);
  clock_.advance(10 * kLongestSilence);
  EXPECT_FALSE(follower.stream.request(20));
  ASSERT_TRUE(follower.waits_for("rank 0: ")) << "the silence begins with the first call that fails";
  EXPECT_TRUE(follower.stream.failure().ok());
  clock_.advance(kLongestSilence + 1ms);
  EXPECT_FALSE(wait_known(follower.stream, 20));
  EXPECT_EQ(follower.stream.failure().code(), Code::kUnavailable);
  EXPECT_NE(follower.stream.failure().message().find("has not answered for 60 s"), std::string::npos)
      << follower.stream.failure().message();
}

TEST_F(FollowedDecisionsTest, a_rank_with_other_settings_asks_for_nothing) {
  service_->begin_run(1);
  decide(0);
  leader_->set_run({{{"seed", "7"}}});
  const auto job = rank_job(*network_, 2, 3, std::make_shared<StreamService>());
  job->set_run({{{"seed", "8"}}});
  AwaitedStream stream(log_with({100}), decisions_of(10));
  const auto decisions = std::make_shared<FollowedDecisions>(job, stream);
  stream.set_guide(decisions);
  decisions->begin_run(1);
  stream.seek(stream.beginning());
  EXPECT_FALSE(wait_known(stream, 10));
  EXPECT_EQ(stream.failure().code(), Code::kStateMismatch);
  decisions->stop();
}

}  // namespace
}  // namespace forebay
