#include "stream/ranks/followed_chunks.h"

#include <gtest/gtest.h>

#include "cluster/simulated/simulated_network.h"
#include "stream/ranks/rank_answers.h"
#include "stream/stream_test_support.h"

namespace forebay {
namespace {

// What rank 0 of three says, and one of those who follow it.
class FollowedChunksTest : public testing::Test {
 protected:
  struct Follower {
    Follower(FollowedChunksTest& test, int rank, std::chrono::milliseconds patience = 60s)
        : stream(log_with({100}), chunks_of(10)),
          chunks(std::make_shared<FollowedChunks>(test.network_->transport(), test.leader_, rank, RunTerms{}, stream,
                                                  patience)) {
      stream.set_guide(chunks);
    }
    ~Follower() { chunks->stop(); }
    void begin(uint64_t seeks) {
      chunks->begin_anew(seeks);
      stream.seek(stream.beginning());
    }
    Stream stream;
    const std::shared_ptr<FollowedChunks> chunks;
  };

  void SetUp() override {
    answers_->know(0, 3);
    answers_->tell_run(RunTerms{}.to_json());
  }
  void decide(int64_t chunk) { answers_->decided({10 * chunk, {{0, std::to_string(10 * chunk + 10), 10, 0}}, 0}); }
  std::optional<Buffer> ask(RankQuestion what, int rank, uint64_t number) {
    return answers_->find(RankKey{what, rank, 1, number}.key());
  }

  const std::shared_ptr<SimulatedNetwork> network_ = SimulatedNetwork::make({});
  const PeerHost leader_{"rank0:1", {"a-token-that-is-long-enough", 1}};
  const std::shared_ptr<RankAnswers> answers_ = std::make_shared<RankAnswers>();
  const std::unique_ptr<Listening> listening_ = *network_->transport()->listen(leader_.address, leader_.pass, answers_);
};

TEST_F(FollowedChunksTest, ranks_that_stay_at_different_places_are_told_so) {
  answers_->begin_anew(1);
  Follower follower(*this, 1, 50ms);
  follower.begin(2);
  EXPECT_FALSE(wait_known(follower.stream, 10));
  EXPECT_EQ(follower.stream.failure().code(), Code::kStateMismatch);
  EXPECT_EQ(
      follower.stream.failure().message(),
      "rank 0, which decides what comes next, is elsewhere: it has loaded a state 0 time(s), and rank 1 1 time(s): "
      "load the same states on all ranks, and start all again where one is");
  answers_->begin_anew(3);
  decide(0);
  follower.begin(3);
  EXPECT_TRUE(wait_known(follower.stream, 10)) << follower.stream.failure().to_string();
}

TEST_F(FollowedChunksTest, who_is_first_to_load_a_state_waits_for_rank_0_to_do_so) {
  answers_->begin_anew(1);
  Follower follower(*this, 1);
  follower.begin(2);
  EXPECT_FALSE(follower.stream.known(10));
  const auto until = std::chrono::steady_clock::now() + kStreamPatience;
  while (follower.stream.awaited().find("loaded a state") == std::string::npos &&
         std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(follower.stream.awaited(),
            "rank 0: it has loaded a state 0 time(s), and rank 1 1 time(s): "
            "load the same states on all ranks, and start all again where one is");
  answers_->begin_anew(2);
  decide(0);
  EXPECT_TRUE(wait_known(follower.stream, 10)) << follower.stream.failure().to_string();
}

TEST_F(FollowedChunksTest, a_rank_that_is_started_again_alone_is_told_that_rank_0_has_gone_on) {
  answers_->begin_anew(1);
  for (int64_t chunk = 0; chunk < 3; ++chunk) decide(chunk);
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

TEST_F(FollowedChunksTest, a_rank_that_the_others_wait_for_and_that_asks_for_nothing_is_gone) {
  answers_->begin_anew(1);
  for (int64_t chunk = 0; chunk < 1024; ++chunk) decide(chunk);
  EXPECT_FALSE(answers_->may_decide());
  ASSERT_TRUE(ask(RankQuestion::kChunk, 1, 5000));
  const auto before = std::chrono::steady_clock::now();
  ASSERT_TRUE(ask(RankQuestion::kRun, 2, 0)) << "a sign of life";
  const auto after = std::chrono::steady_clock::now();
  EXPECT_TRUE(answers_->check_heard(before + 60s).ok());
  const Status gone = answers_->check_heard(after + 60s + 1ms);
  EXPECT_EQ(gone.code(), Code::kUnavailable);
  EXPECT_EQ(gone.message(),
            "rank 2, which is 1024 batches (or windows) behind, has asked rank 0 for nothing for 60 s: it is gone, or "
            "does not reach rank 0; start all ranks again, from a state");
  ASSERT_TRUE(ask(RankQuestion::kChunk, 2, 5000));
  EXPECT_TRUE(answers_->check_heard(after + 600s).ok()) << "nobody waits for it any more";
}

}  // namespace
}  // namespace forebay
