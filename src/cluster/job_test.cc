#include "cluster/job.h"

#include <gtest/gtest.h>

#include "cluster/simulated/simulated_network.h"
#include "cluster/transport_conformance.h"

namespace forebay {

namespace {

using conformance::bytes_of;
using conformance::kPass;
using conformance::kTexts;
using conformance::TextService;

const CallLimits kJobLimits(1000, std::chrono::seconds(20));

/// Three ranks of a job in one process, each with a service that says which rank it is.
class JobTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int rank = 0; rank < 3; ++rank) {
      const auto texts = std::make_shared<TextService>();
      texts->put("who", std::to_string(rank));
      const auto way = static_rendezvous(addresses_, kPass.token, kPass.generation);
      auto job = Job::open({.transport = network_->transport(),
                            .rank = rank,
                            .own = {addresses_[static_cast<size_t>(rank)], kPass},
                            .services = {{kTexts, texts}},
                            .held = held_},
                           *way, {});
      ASSERT_TRUE(job.ok()) << job.status().to_string();
      ranks_.push_back(std::move(*job));
    }
  }

  const std::vector<std::string> addresses_ = {"a:1", "b:1", "c:1"};
  const std::shared_ptr<SimulatedNetwork> network_ = SimulatedNetwork::make({});
  std::shared_ptr<const void> held_ = std::make_shared<const char>();
  std::vector<std::shared_ptr<Job>> ranks_;
};

}  // namespace

TEST_F(JobTest, each_rank_reaches_the_services_of_the_others) {
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to) {
      const Result<Buffer> said = ranks_[static_cast<size_t>(from)]->ask(to, kTexts, bytes_of("who"), kJobLimits, {});
      ASSERT_TRUE(said.ok()) << said.status().to_string();
      EXPECT_EQ(conformance::text_of(*said), std::to_string(to));
    }
  EXPECT_EQ(ranks_[1]->rank(), 1);
  EXPECT_EQ(ranks_[1]->ranks(), 3);
  EXPECT_EQ(ranks_[1]->address(), "b:1");
}

TEST_F(JobTest, one_check_for_all_that_a_job_serves) {
  ranks_[0]->set_run({{{"seed", "7"}}});
  ranks_[1]->set_run({{{"seed", "7"}}});
  ranks_[2]->set_run({{{"seed", "8"}}});
  for (const int rank : {0, 1}) EXPECT_TRUE(*ranks_[static_cast<size_t>(rank)]->ask_run({})) << rank;
  EXPECT_EQ(ranks_[2]->ask_run({}).status().code(), Code::kStateMismatch);
  EXPECT_EQ(ranks_[2]->check_run().code(), Code::kStateMismatch);
  EXPECT_TRUE(ranks_[1]->check_run().ok());
}

TEST_F(JobTest, a_rank_0_that_has_not_set_its_settings_has_told_nothing) {
  ranks_[1]->set_run({{{"seed", "8"}}});
  EXPECT_FALSE(*ranks_[1]->ask_run({}));
  ranks_[0]->set_run({{{"seed", "7"}}});
  EXPECT_EQ(ranks_[1]->ask_run({}).status().code(), Code::kStateMismatch);
}

TEST_F(JobTest, a_closed_job_serves_nothing_and_still_asks) {
  ranks_[1]->close();
  ranks_[1]->close();
  EXPECT_EQ(ranks_[0]->ask(1, kTexts, bytes_of("who"), kJobLimits, {}).status().code(), Code::kUnavailable);
  EXPECT_TRUE(ranks_[1]->ask(0, kTexts, bytes_of("who"), kJobLimits, {}).ok());
}

TEST_F(JobTest, what_it_holds_is_released_when_it_is_closed) {
  std::weak_ptr<const void> held = held_;
  held_.reset();
  for (const auto& rank : ranks_) rank->close();
  EXPECT_TRUE(held.expired());
}

TEST_F(JobTest, a_place_that_is_taken_is_an_error_before_anybody_meets) {
  class NeverMeets final : public Rendezvous {
   public:
    Result<Membership> meet(int, const HostCard&, std::chrono::milliseconds, std::stop_token) override {
      ADD_FAILURE() << "it meets though it does not listen";
      return unavailable("");
    }
  } way;
  const auto job = Job::open({.transport = network_->transport(), .own = {"a:1", kPass}}, way, {});
  EXPECT_EQ(job.status().code(), Code::kUnavailable);
}

}  // namespace forebay
