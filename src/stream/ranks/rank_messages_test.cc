#include "stream/ranks/rank_messages.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

std::vector<uint8_t> bytes_of(const Buffer& buffer) { return {buffer.span().begin(), buffer.span().end()}; }

using Asks = RankRequest::Kind;
using Kind = LeaderResponse::Kind;

std::vector<RankRequest> all_requests() {
  return {{Asks::kDecision, 1, 7, {{0, UINT64_MAX}}},
          {Asks::kDecision, 2, UINT64_MAX, {{0, uint64_t{1} << 60}}},
          {Asks::kBeginning, 0, 0},
          {Asks::kSignOfLife, 3, 1},
          {Asks::kGoodbye, 3, 1},
          {Asks::kReplayRecords, 3, 1, {{0, 0}, {0, 5}, {0, uint64_t{1} << 62}}},
          {Asks::kReplayRecords, 3, 1},
          {Asks::kNotes, 3, 1, {{0, 0}, {99'999, uint64_t{1} << 50}}},
          {Asks::kLogRecords, 1 << 30, 1, {{4, UINT64_MAX}}}};
}

LeaderResponse response_of(Decision decision) { return {.kind = Kind::kDecision, .decision = std::move(decision)}; }

std::vector<LeaderResponse> all_responses() {
  Decision first{0, {{0, "17-3", 64, 0}, {2, std::string(1024, 'x'), 0, 5}}, 0};
  first.after = {"1", "", "2"};
  return {{Kind::kNotYet},
          {Kind::kInAnotherRun, 3},
          {Kind::kNoSuchDecision},
          {Kind::kEnd},
          {.kind = Kind::kBeginning, .after = {"1", "", "2"}},
          response_of(first),
          response_of({128, {{1, "9", 1, 0}}, 0}),
          response_of({256, {}, 64})};
}

TEST(RankMessages, requests_come_back_as_they_were) {
  for (const RankRequest& request : all_requests()) {
    const Buffer bytes = encode_rank_request(request);
    const Result<RankRequest> read = parse_rank_request(bytes.span());
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(read->kind, request.kind);
    EXPECT_EQ(read->rank, request.rank);
    EXPECT_EQ(read->run, request.run);
    ASSERT_EQ(read->items.size(), request.items.size());
    for (size_t i = 0; i < request.items.size(); ++i) {
      EXPECT_EQ(read->items[i].partition, request.items[i].partition);
      EXPECT_EQ(read->items[i].number, request.items[i].number);
    }
  }
}

TEST(RankMessages, the_responses_of_rank_0_come_back_as_they_were) {
  for (const LeaderResponse& response : all_responses()) {
    const Buffer bytes = encode_leader_response(response);
    const Result<LeaderResponse> read = parse_leader_response(bytes.span(), 3);
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(read->kind, response.kind);
    EXPECT_EQ(read->run, response.run);
    EXPECT_EQ(read->after, response.after);
    EXPECT_EQ(read->decision, response.decision);
  }
}

TEST(RankMessages, every_other_length_and_every_wrong_bit_is_corrupt) {
  const auto expect_corrupt = [](const Buffer& bytes, auto parse) {
    const std::vector<uint8_t> right = bytes_of(bytes);
    for (size_t size = 0; size < right.size(); ++size)
      EXPECT_EQ(parse(std::span(right).first(size)).status().code(), Code::kCorrupt) << size;
    std::vector<uint8_t> longer = right;
    longer.push_back(0);
    EXPECT_EQ(parse(std::span<const uint8_t>(longer)).status().code(), Code::kCorrupt);
    for (size_t bit = 0; bit < right.size() * 8; ++bit) {
      std::vector<uint8_t> wrong = right;
      wrong[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
      EXPECT_EQ(parse(std::span<const uint8_t>(wrong)).status().code(), Code::kCorrupt) << bit;
    }
  };
  for (const RankRequest& request : all_requests())
    expect_corrupt(encode_rank_request(request), [](std::span<const uint8_t> b) { return parse_rank_request(b); });
  for (const LeaderResponse& response : {all_responses()[1], all_responses()[4], all_responses()[6]})
    expect_corrupt(encode_leader_response(response),
                   [](std::span<const uint8_t> b) { return parse_leader_response(b, 3); });
}

// A stranger that has the token can write any fields, with the checksum of these.
TEST(RankMessages, requests_for_nothing_or_too_much_are_corrupt) {
  const auto parsed = [](auto put) {
    MessageFields out("fbstrrq2");
    put(out);
    return parse_rank_request(out.done().span()).status().code();
  };
  const auto head = [](MessageFields& out, uint8_t what, uint32_t rank = 1) {
    out.put(what);
    out.put(rank);
    out.put(uint64_t{1});
  };
  const auto no_items = [](MessageFields& out) { out.put(uint32_t{0}); };
  EXPECT_EQ(parsed([&](auto& out) { head(out, 2), no_items(out); }), Code::kOk);
  EXPECT_EQ(parsed([&](auto& out) { head(out, 7), no_items(out); }), Code::kCorrupt) << "no such request";
  EXPECT_EQ(parsed([&](auto& out) { head(out, 0), no_items(out); }), Code::kCorrupt) << "a decision without a number";
  EXPECT_EQ(parsed([&](auto& out) { head(out, 2, uint32_t{1} << 31), no_items(out); }), Code::kCorrupt)
      << "no such rank";
  EXPECT_EQ(parsed([&](auto& out) { head(out, 4), out.put(UINT32_MAX), out.put(int64_t{1}); }), Code::kCorrupt)
      << "a list that is longer than the message";
  const RankRequest most{Asks::kReplayRecords, 1, 1, std::vector<RankItem>(kMaxRankItems, {0, 1})};
  EXPECT_TRUE(parse_rank_request(encode_rank_request(most).span()).ok());
  const RankRequest more{Asks::kLogRecords, 1, 1, std::vector<RankItem>(kMaxRankItems + 1)};
  EXPECT_EQ(parse_rank_request(encode_rank_request(more).span()).status().code(), Code::kCorrupt);
}

TEST(RankMessages, nonsense_of_rank_0_is_corrupt_though_its_checksum_is_right) {
  Decision no_records{0, {{0, "1", 0, 3}}, 0}, unsorted{0, {{1, "1", 1, 0}, {0, "1", 1, 0}}, 0};
  Decision beyond{0, {{3, "1", 1, 0}}, 0}, negative{-1, {{0, "1", 1, 0}}, 0},
      taken{0, {{0, "1", -1, 0}, {1, "", 5, 0}}, 0};
  Decision too_many_missing{0, {}, int64_t{1} << 40}, long_offset{0, {{0, std::string(1025, 'x'), 1, 0}}, 0};
  Decision other_log{0, {{0, "1", 1, 0}}, 0, {"1"}}, huge{0, {{0, "1", INT64_MAX, 0}, {1, "1", INT64_MAX, 0}}, 0};
  for (const Decision& decision :
       {no_records, unsorted, beyond, negative, taken, too_many_missing, long_offset, other_log, huge}) {
    const Buffer bytes = encode_leader_response(response_of(decision));
    EXPECT_TRUE(check_leader_response(bytes.span()).ok());
    EXPECT_EQ(parse_leader_response(bytes.span(), 3).status().code(), Code::kCorrupt) << decision.to_json();
  }
  const Buffer bytes = encode_leader_response({.kind = Kind::kBeginning, .after = {"1"}});
  EXPECT_EQ(parse_leader_response(bytes.span(), 3).status().code(), Code::kCorrupt) << "of another log";
}

TEST(RankMessages, the_longest_request_fits) {
  const std::vector<RankItem> items(kMaxRankItems, {UINT32_MAX, UINT64_MAX});
  EXPECT_LE(encode_rank_request({Asks::kNotes, 1, 1, items}).size(), kMaxRequestBytes);
}

}  // namespace
}  // namespace forebay
