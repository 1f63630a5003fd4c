#include "cluster/run_check.h"

#include <gtest/gtest.h>

#include "cluster/message.h"
#include "cluster/simulated/simulated_network.h"
#include "cluster/transport_conformance.h"

namespace forebay {

namespace {

using namespace std::chrono_literals;
using conformance::kPass;

RunTerms terms_of(const std::string& seed, const std::string& samples = "21") {
  return {{{"seed", seed}, {"batch size", "4"}, {"samples", samples}}};
}

/// Rank 0 of three at the address "a:1". All times are of the network's clock.
class RunCheckTest : public testing::Test {
 protected:
  /// Lets `check` ask now, and lets rank 0 answer.
  Status poll(RunCheck& check) {
    const Status said = check.poll(now_);
    pass(1s);
    return said;
  }
  void pass(std::chrono::nanoseconds time) {
    network_->advance(time);
    now_ += time;
  }
  std::unique_ptr<RunCheck> check_of(int rank, RunTerms terms) {
    return std::make_unique<RunCheck>(network_->transport(), PeerHost{"a:1", kPass}, rank, std::move(terms));
  }

  const std::shared_ptr<SimulatedNetwork> network_ = SimulatedNetwork::make({}, /*manual=*/true);
  const std::shared_ptr<RunService> leader_ = std::make_shared<RunService>();
  const std::unique_ptr<Listening> listening_ =
      std::move(*network_->transport()->listen("a:1", kPass, {{std::string(kRunServiceName), leader_}}));
  RunCheck::Time now_{0};
};

}  // namespace

TEST_F(RunCheckTest, a_rank_that_has_other_settings_than_rank_0_is_told_what_differs) {
  leader_->set_terms(terms_of("7"));
  const auto same = check_of(1, terms_of("7")), other = check_of(2, terms_of("8", "20"));
  EXPECT_TRUE(poll(*other).ok()) << "the answer is on its way";
  for (int times = 0; times < 2; ++times) {
    const Status told = poll(*other);
    EXPECT_EQ(told.code(), Code::kStateMismatch);
    EXPECT_EQ(
        told.message(),
        "rank 2 has other settings than rank 0: seed=8 (rank 0: 7), samples=20 (rank 0: 21); give all ranks the same");
  }
  EXPECT_EQ(other->ask({}).status().code(), Code::kStateMismatch) << "known without a question";
  for (int times = 0; times < 3; ++times) EXPECT_TRUE(poll(*same).ok());
  EXPECT_TRUE(*same->ask({}));
  EXPECT_EQ(listening_->stats().calls, 2u) << "one for each rank";
}

TEST_F(RunCheckTest, a_term_says_what_to_do_and_one_of_another_version_is_left_out) {
  RunTerms own = terms_of("8"), leader = terms_of("7");
  own.terms.push_back({"shard_by", "count", "give shard_by="});
  own.terms.push_back({"new", "1"});
  leader.terms.push_back({"shard_by", "locality"});
  leader.terms.push_back({"old", "2"});
  EXPECT_EQ(own.check_same(1, leader).message(),
            "rank 1 has other settings than rank 0: seed=8 (rank 0: 7), shard_by=count (rank 0: locality); give all "
            "ranks the same; "
            "give shard_by=");
}

TEST_F(RunCheckTest, nobody_waits_for_a_rank_0_that_is_not_there_or_sets_its_terms_later) {
  const auto other = check_of(2, terms_of("8"));
  for (const HostHealth health : {HostHealth::kDead, HostHealth::kFrozen, HostHealth::kWell}) {
    network_->set_health("a:1", health);
    for (int times = 0; times < 5; ++times) EXPECT_TRUE(poll(*other).ok());
  }
  leader_->set_terms(terms_of("7"));
  pass(10s);  // the longest pause
  EXPECT_TRUE(poll(*other).ok());
  EXPECT_EQ(poll(*other).code(), Code::kStateMismatch);
}

TEST_F(RunCheckTest, rank_0_is_asked_less_and_less_often) {
  const auto other = check_of(1, terms_of("7"));
  for (int millisecond = 0; millisecond < 20'000; millisecond += 10) {
    EXPECT_TRUE(other->poll(now_).ok());
    pass(10ms);
  }
  EXPECT_EQ(listening_->stats().calls, 10u) << "after 0, 50, 150, … 6350 and then each 5000 ms";
}

TEST_F(RunCheckTest, nonsense_of_rank_0_is_nobodys_error) {
  network_->set_link({.flips = 1});
  leader_->set_terms(terms_of("7"));
  const auto other = check_of(1, terms_of("8"));
  for (int times = 0; times < 5; ++times) EXPECT_TRUE(poll(*other).ok());
}

TEST_F(RunCheckTest, one_may_go_while_its_call_is_on_its_way) {
  network_->set_health("a:1", HostHealth::kFrozen);
  auto other = check_of(1, terms_of("7"));
  EXPECT_TRUE(other->poll(now_).ok());
  other.reset();
  pass(10s);
}

namespace {

// A rank's settings at a position of a run whose plan can change.
RunTerms changing(int64_t position, std::vector<std::pair<int64_t, std::string>> made = {}) {
  RunTerms terms = terms_of("7");
  terms.changes.possible = true;
  for (auto& [at, text] : made) {
    terms.changes.position = at;
    terms.changes.add(text);
  }
  terms.changes.position = position;
  return terms;
}

}  // namespace

TEST_F(RunCheckTest, a_rank_that_has_made_another_change_is_told) {
  leader_->set_terms(changing(64, {{64, "weights a"}}));
  const auto same = check_of(1, changing(64, {{64, "weights a"}})), other = check_of(2, changing(64, {{64, "b"}}));
  for (int times = 0; times < 3; ++times) EXPECT_TRUE(poll(*same).ok());
  EXPECT_TRUE(poll(*other).ok());
  EXPECT_EQ(poll(*other).message(),
            "rank 2 has made another change than rank 0: b (rank 0: weights a); make the same call on all ranks, at "
            "the same position");
}

TEST_F(RunCheckTest, ranks_may_make_a_change_one_after_the_other) {
  leader_->set_terms(changing(64));
  const auto other = check_of(1, changing(64));
  for (int times = 0; times < 3; ++times) EXPECT_TRUE(poll(*other).ok());
  other->edit([](RunChanges& changes) { changes.add("a"); });
  for (int times = 0; times < 5; ++times) EXPECT_TRUE(poll(*other).ok()) << "rank 0 may make it yet";
  leader_->edit([](RunChanges& changes) { changes.add("a"); });
  leader_->edit([](RunChanges& changes) { changes.position = 128; });
  for (int times = 0; times < 5; ++times) EXPECT_TRUE(poll(*other).ok());
  leader_->edit([](RunChanges& changes) { changes.add("b"); });
  other->edit([](RunChanges& changes) { changes.position = 128; });
  pass(1min);
  for (int times = 0; times < 3; ++times) EXPECT_TRUE(poll(*other).ok()) << "this rank may make it yet";
}

TEST_F(RunCheckTest, a_rank_without_a_change_that_the_other_one_has_made_is_told) {
  leader_->set_terms(changing(64));
  const auto makes = check_of(1, changing(64)), misses = check_of(2, changing(64));
  for (int times = 0; times < 3; ++times) EXPECT_TRUE(poll(*makes).ok() && poll(*misses).ok());
  makes->edit([](RunChanges& changes) { changes.add("a at 64"); });
  leader_->edit([](RunChanges& changes) { changes.position = 128; });
  for (int times = 0; times < 3; ++times) (void)poll(*makes);
  EXPECT_EQ(poll(*makes).message(),
            "rank 0 went on without a change that rank 1 has made: a at 64; make the same call on all ranks, at the "
            "same position");
  leader_->edit([](RunChanges& changes) { changes.add("b at 128"); });
  misses->edit([](RunChanges& changes) { changes.position = 192; });
  EXPECT_TRUE(poll(*misses).ok()) << "all was the same a moment ago";
  misses->ask_soon();
  for (int times = 0; times < 2; ++times) (void)poll(*misses);
  EXPECT_EQ(poll(*misses).message(),
            "rank 2 went on without a change that rank 0 has made: b at 128; make the same call on all ranks, at the "
            "same position");
}

TEST_F(RunCheckTest, all_is_asked_anew_each_minute_where_changes_are_possible) {
  leader_->set_terms(changing(0));
  const auto other = check_of(1, changing(0)), never = check_of(2, terms_of("7"));
  for (int second = 0; second < 600; ++second) {
    EXPECT_TRUE(other->poll(now_).ok() && never->poll(now_).ok());
    pass(1s);
  }
  EXPECT_EQ(listening_->stats().calls, 12u) << "2, and 10 in ten minutes; and 1";
}

TEST_F(RunCheckTest, positions_say_nothing_while_a_rank_is_about_to_move) {
  leader_->set_terms(changing(500));
  const auto back = check_of(1, changing(500));
  for (int times = 0; times < 3; ++times) EXPECT_TRUE(poll(*back).ok());
  back->edit([](RunChanges& changes) { changes.jump(64); });
  back->edit([](RunChanges& changes) { changes.add("a"); });
  for (int times = 0; times < 5; ++times) EXPECT_TRUE(poll(*back).ok());
  leader_->edit([](RunChanges& changes) { changes.jump(64); });
  leader_->edit([](RunChanges& changes) { changes.position = 80; });
  for (int times = 0; times < 3; ++times) {
    pass(10s);
    (void)poll(*back);
  }
  EXPECT_EQ(poll(*back).code(), Code::kStateMismatch) << "it has moved, and went on without the change";
}

TEST(RunChangesTest, only_the_last_ones_are_compared) {
  RunTerms own = changing(0), leader = changing(0);
  for (int i = 0; i < 1000; ++i) {
    own.changes.add(std::to_string(i));
    leader.changes.add(i < 100 ? "other" : std::to_string(i));
  }
  EXPECT_EQ(own.changes.count(), 1000u);
  EXPECT_TRUE(own.check_same(1, leader).ok());
  own.changes.add("x");
  leader.changes.add("y");
  EXPECT_EQ(own.check_same(1, leader).code(), Code::kStateMismatch);
  RunTerms far_behind = changing(0);
  EXPECT_TRUE(far_behind.check_same(1, leader).ok()) << "its position is before all changes";
}

TEST(RunTermsTest, come_back_as_they_were_and_nothing_else_is_taken) {
  EXPECT_FALSE(*parse_run(encode_run(std::nullopt).span()));
  RunTerms terms = changing(640, {{64, "weights a"}, {128, "weights b"}});
  terms.changes.jump(128);
  const Buffer bytes = encode_run(terms);
  const auto read = parse_run(bytes.span());
  ASSERT_TRUE(read.ok() && *read) << read.status().to_string();
  ASSERT_EQ((*read)->terms.size(), 3u);
  EXPECT_EQ((*read)->terms[2].name, "samples");
  EXPECT_EQ((*read)->terms[2].value, "21");
  const RunChanges& changes = (*read)->changes;
  EXPECT_TRUE(changes.possible);
  EXPECT_EQ(changes.jumps, 1u);
  EXPECT_EQ(changes.position, 128);
  ASSERT_EQ(changes.last.size(), 2u);
  EXPECT_EQ(changes.last[1].position, 128);
  EXPECT_EQ(changes.last[1].text, "weights b");
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(parse_run(bytes.span().first(size)).status().code(), Code::kCorrupt) << size;
  MessageFields lies("fbrunrs2");  // a text that is longer than what is left
  lies.put(uint8_t{1});
  lies.put_all(uint8_t{0}, uint64_t{0}, int64_t{0}, uint64_t{0}, uint32_t{0});
  lies.put(UINT32_MAX);
  EXPECT_EQ(parse_run(lies.done().span()).status().code(), Code::kCorrupt);
}

}  // namespace forebay
