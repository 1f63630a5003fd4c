#include "loader/run/checkpoint.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

Checkpoint example() {
  return {{3, 640, 10}, std::string(32, 'a'), std::string(32, 'b'), std::string(32, 'c'), 1'281'167};
}

TEST(Checkpoint, json_goes_both_ways_in_under_1_kb) {
  Checkpoint large = example();
  large.cursor = {kMaxEpoch, kMaxEpoch, kMaxEpoch};
  large.samples = kMaxEpoch;
  for (const Checkpoint& state : {example(), large}) {
    const std::string json = state.to_json();
    EXPECT_LT(json.size(), 1024u);
    const Result<Checkpoint> read = Checkpoint::from_json(json);
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(read->cursor, state.cursor);
    EXPECT_EQ(read->samples, state.samples);
    EXPECT_TRUE(check_same(*read, state, !state.stream.empty(), true).ok());
  }
}

std::string replaced(std::string from, const std::string& to) {
  std::string json = example().to_json();
  const size_t at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return json.replace(at, from.size(), to);
}

TEST(Checkpoint, nothing_in_it_is_trusted) {
  for (const std::string& bad : {std::string(""),
                                 std::string("{}"),
                                 std::string("[]"),
                                 std::string("null"),
                                 std::string("{\"format\":1}"),
                                 std::string(70'000, ' '),
                                 std::string(50'000, '['),
                                 replaced("\"epoch\":3", "\"rehearsal\":" + std::string(100'000, '[') +
                                                             std::string(100'000, ']') + ",\"epoch\":3"),
                                 replaced("\"epoch\":3", "\"epoch\":-3"),
                                 replaced("\"epoch\":3", "\"epoch\":3.5"),
                                 replaced("\"epoch\":3", "\"epoch\":\"3\""),
                                 replaced("\"epoch\":3", "\"epoch\":null"),
                                 replaced("\"epoch\":3", "\"epoch\":9223372036854775807"),
                                 replaced("\"epoch\":3", "\"epoch\":18446744073709551615"),
                                 replaced("\"position\":640", "\"position\":99999999"),
                                 replaced("\"step\":10", "\"step\":641"),
                                 replaced("\"step\":10", "\"step\":9223372036854775807"),
                                 replaced("\"samples\"", "\"sample\""),
                                 replaced("\"dataset\":\"", "\"dataset\":7,\"x\":\""),
                                 replaced("\"fingerprints\":{", "\"fingerprints\":[],\"x\":{")}) {
    const Result<Checkpoint> read = Checkpoint::from_json(bad);
    EXPECT_EQ(read.status().code(), Code::kInvalidArgument) << bad.substr(0, 200);
  }
  EXPECT_EQ(Checkpoint::from_json(replaced("\"format\":1", "\"format\":2")).status().code(), Code::kUnsupported);
}

TEST(Checkpoint, says_which_of_data_pipeline_and_seed_differ) {
  const Checkpoint running = example();
  Checkpoint saved = running;
  saved.dataset = "x";
  saved.seed = "y";
  const Status status = check_same(saved, running, false, true);
  EXPECT_EQ(status.code(), Code::kStateMismatch);
  EXPECT_NE(status.message().find("the data set, the seed"), std::string::npos) << status.message();
  EXPECT_EQ(status.message().find("the pipeline"), std::string::npos);
  EXPECT_TRUE(check_same(saved, running, false, false).ok());
  saved.samples = 5;
  EXPECT_EQ(check_same(saved, running, false, false).code(), Code::kStateMismatch);
}

}  // namespace
}  // namespace forebay
