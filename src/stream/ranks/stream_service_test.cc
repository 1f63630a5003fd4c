#include "stream/ranks/stream_service.h"

#include <gtest/gtest.h>

#include "cluster/message.h"
#include "stream/manual_clock_test_support.h"
#include "stream/stream_test_support.h"

namespace forebay {
namespace {

using ItemState = ResponseItem::State;
using Asks = RankRequest::Kind;
using Kind = LeaderResponse::Kind;

// Rank 0 of three, in its first run. Time goes on by hand.
class StreamServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    service_.set_rank(0, 3);
    service_.begin_run(1);
  }
  Result<Buffer> answer(const RankRequest& request) {
    FOREBAY_ASSIGN(const Response response, service_.answer(encode_rank_request(request).span()));
    return joined(response);
  }
  LeaderResponse leader(const RankRequest& request) {
    const Result<Buffer> response = answer(request);
    return *parse_leader_response(response->span(), 1);
  }
  std::vector<ResponseItem> items(Asks kind, const std::vector<RankItem>& wanted, int rank = 1, uint64_t run = 1) {
    return *parse_rank_items(kind, wanted.size(), *answer({kind, rank, run, wanted}));
  }
  LeaderResponse decision(uint64_t first, int rank = 1, uint64_t run = 1) {
    return leader({Asks::kDecision, rank, run, {{0, first}}});
  }
  void decide(int64_t number) { service_.decided({10 * number, {{0, std::to_string(10 * number + 10), 10, 0}}, 0}); }

  ManualClock clock_;
  StreamService service_{clock_};
};

TEST_F(StreamServiceTest, says_what_is_decided_what_never_will_be_and_where_the_stream_ends) {
  EXPECT_EQ(decision(0).kind, Kind::kNotYet);
  decide(0);
  decide(1);
  service_.ended(20);
  ASSERT_EQ(decision(10).kind, Kind::kDecision);
  EXPECT_EQ(decision(10).decision.parts.front().last, "20");
  EXPECT_EQ(decision(20).kind, Kind::kEnd);
  EXPECT_EQ(decision(5).kind, Kind::kNoSuchDecision) << "a later one is there";
  EXPECT_EQ(decision(30).kind, Kind::kNotYet);
  EXPECT_EQ(decision(0, 3).kind, Kind::kNotYet) << "no such rank";
}

TEST_F(StreamServiceTest, says_where_the_run_begins) {
  const RankRequest wanted{Asks::kBeginning, 2, 1};
  EXPECT_EQ(leader(wanted).kind, Kind::kNotYet);
  service_.begins({"17"});
  EXPECT_EQ(leader(wanted).after, (std::vector<std::string>{"17"}));
}

TEST_F(StreamServiceTest, a_rank_of_another_run_is_told_which_one_this_is) {
  decide(0);
  service_.begins({"17"});
  EXPECT_EQ(decision(0, 1, 2).run, 1u);
  EXPECT_EQ(leader({Asks::kBeginning, 1, 0}).run, 1u);
  StreamService before;
  before.set_rank(0, 3);
  const Result<Response> response = before.answer(encode_rank_request({Asks::kDecision, 1, 1, {{0, 0}}}).span());
  EXPECT_EQ(parse_leader_response(joined(*response).span(), 1)->kind, Kind::kNotYet)
      << "nowhere before its run has begun";
}

TEST_F(StreamServiceTest, what_all_have_asked_for_is_forgotten_and_whoever_has_left_needs_nothing) {
  for (int64_t number = 0; number < 3; ++number) decide(number);
  for (const int rank : {1, 2}) (void)decision(10, rank);
  EXPECT_EQ(decision(0).kind, Kind::kNoSuchDecision);
  EXPECT_TRUE(answer({Asks::kGoodbye, 2, 1}).ok());
  (void)decision(20, 1);
  EXPECT_EQ(decision(10).kind, Kind::kNoSuchDecision);
}

TEST_F(StreamServiceTest, a_goodbye_of_another_run_is_none) {
  decide(0);
  decide(1);
  EXPECT_TRUE(answer({Asks::kGoodbye, 2, 9}).ok());
  (void)decision(10, 1);
  EXPECT_EQ(decision(0, 2).kind, Kind::kDecision);
}

TEST_F(StreamServiceTest, a_rank_that_the_others_wait_for_and_that_asks_for_nothing_is_gone) {
  for (int64_t number = 0; number < 1024; ++number) decide(number);
  EXPECT_FALSE(service_.may_decide());
  (void)decision(5000, 1);
  clock_.advance(59s);
  EXPECT_TRUE(service_.check_liveness().ok());
  EXPECT_TRUE(answer({Asks::kSignOfLife, 2, 1}).ok());
  clock_.advance(60s);
  EXPECT_TRUE(service_.check_liveness().ok());
  (void)decision(5000, 1);
  clock_.advance(1ms);
  const Status gone = service_.check_liveness();
  EXPECT_EQ(gone.code(), Code::kUnavailable);
  EXPECT_EQ(gone.message(),
            "rank 2, which is 1024 batches (or windows) behind, has asked rank 0 for nothing for 60 s: it is gone, or "
            "does not reach rank 0; start all ranks again, from a state");
  (void)decision(10'220, 1);
  (void)decision(10'220, 2);
  clock_.advance(600s);
  EXPECT_TRUE(service_.check_liveness().ok()) << "nobody waits for it any more";
  EXPECT_TRUE(service_.may_decide());
}

TEST_F(StreamServiceTest, lends_what_it_keeps_and_says_what_it_may_keep) {
  EXPECT_EQ(items(Asks::kReplayRecords, {{0, 0}})[0].state, ItemState::kAbsent) << "nothing is kept yet";
  const auto log = log_with({100}, 1000);
  const auto kept = std::make_shared<ReplayRecords>(log, ReplayRecordsOptions{.share = {0, 2}});
  AwaitedStream stream(log, decisions_of(10));
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 10));
  ASSERT_TRUE(kept->retain(stream, std::vector<int64_t>{0, 1, 2}, 6).ok());
  service_.serve_replay(kept);
  const auto states = [&](uint64_t run) {
    std::vector<ItemState> found;
    for (const ResponseItem& item : items(Asks::kReplayRecords, {{0, 2}, {0, 4}, {0, 6}, {0, 7}}, 1, run))
      found.push_back(item.state);
    return found;
  };
  // This rank has the even numbers that are kept; those from 6 on have not been seen.
  EXPECT_EQ(states(1),
            (std::vector<ItemState>{ItemState::kHere, ItemState::kAbsent, ItemState::kComing, ItemState::kAbsent}));
  EXPECT_EQ(states(2)[0], ItemState::kAbsent) << "numbers of another run are others";
  EXPECT_EQ(items(Asks::kReplayRecords, {{0, 2}})[0].body.size(), kept->bytes_of(2)->size());
  stream.stop();
}

TEST_F(StreamServiceTest, tells_what_it_reads_and_gives_each_record_once) {
  EXPECT_EQ(items(Asks::kNotes, {{0, 0}})[0].state, ItemState::kComing) << "nothing is shared yet";
  const auto shelf = std::make_shared<RecordShelf>(1, 0, 3, RecordShelf::Limits{1 << 20, 1});
  shelf->begin_run(1);
  service_.serve_shelf(shelf);
  LogRecord record;
  record.offset = "5";
  record.key = "k";
  record.payload = Buffer::allocate(10);
  std::fill_n(record.payload.data(), 10, uint8_t{1});
  shelf->add({record}, {});
  EXPECT_EQ(items(Asks::kNotes, {{0, 0}})[0].state, ItemState::kHere);
  EXPECT_EQ(items(Asks::kNotes, {{0, 1}})[0].state, ItemState::kComing);
  EXPECT_EQ(items(Asks::kNotes, {{9, 0}})[0].state, ItemState::kComing) << "no such partition";
  shelf->add({record}, {});  // the first note does not fit beside the second one
  EXPECT_EQ(items(Asks::kNotes, {{0, 0}}, 2)[0].state, ItemState::kAbsent) << "forgotten";
  const std::vector<RankItem> rows{{0, RecordShelf::hash_of("5")}, {0, 1}, {9, 1}};
  EXPECT_EQ(items(Asks::kLogRecords, rows, 1, 2)[0].state, ItemState::kAbsent) << "of another run";
  const std::vector<ResponseItem> given = items(Asks::kLogRecords, rows);
  EXPECT_EQ(given[0].state, ItemState::kHere);
  EXPECT_EQ(given[1].state, ItemState::kAbsent);
  EXPECT_EQ(given[2].state, ItemState::kAbsent);
  EXPECT_EQ(items(Asks::kLogRecords, rows)[0].state, ItemState::kAbsent) << "it was given";
}

TEST_F(StreamServiceTest, strangers_bytes_are_refused) {
  const std::vector<uint8_t> nonsense(100, 7);
  EXPECT_EQ(service_.answer(nonsense).status().code(), Code::kCorrupt);
  EXPECT_EQ(service_.answer({}).status().code(), Code::kCorrupt);
}

}  // namespace
}  // namespace forebay
