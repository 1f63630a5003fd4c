#include "loader/run/checkpoint.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

Checkpoint example() {
  return {{3, 640, 10}, std::string(32, 'a'), std::string(32, 'b'), std::string(32, 'c'), 1'281'167};
}

TEST(Checkpoint, json_round_trips_in_under_1_kb) {
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
    EXPECT_TRUE(check_same(*read, state, !state.streams.empty(), true).ok());
  }
}

std::string replaced(std::string from, const std::string& to) {
  std::string json = example().to_json();
  const size_t at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return json.replace(at, from.size(), to);
}

TEST(Checkpoint, damaged_states_are_refused) {
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
                                 replaced("\"position\":640", "\"position\":9007199254740993"),
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

Checkpoint example_of_parts() {
  Checkpoint state = example();
  state.parts = {{"web", 5000, 640}, {"web/en", 4000, 600}, {"web/de", 1000, 40}, {"code", 70, 210}};
  state.changes.emplace().since = {2, 64, 1};
  state.changes->mixes[""] = {1'281'231, {600, 200}, {}};
  state.changes->mixes["web"] = {600, {580, 20}, {32768, 32768}};
  state.changes->grown["code"] = {3, 60};
  return state;
}

TEST(Checkpoint, of_parts_that_changed_round_trips) {
  const std::string json = example_of_parts().to_json();
  EXPECT_TRUE(json.ends_with(R"("parts":[["web",5000,640],["web/en",4000,600],["web/de",1000,40],["code",70,210]],)"
                             R"("changes":[[2,64,1],[["",1281231,[600,200],[]],["web",600,[580,20],[32768,32768]]],)"
                             R"([["code",3,60]]]})"))
      << json;
  const Result<Checkpoint> read = Checkpoint::from_json(json);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->parts, example_of_parts().parts);
  EXPECT_EQ(read->changes, example_of_parts().changes);
}

TEST(Checkpoint, of_draws_whose_weights_were_set_round_trips) {
  Checkpoint state = example();
  state.changes.emplace();
  EXPECT_TRUE(state.to_json().ends_with(R"("changes":[]})")) << "frameworks look for the entries of a new loader";
  state.changes->since = {2, 64, 1};
  state.changes->redrawn[""] = {128, "step 7", "1f"};
  const std::string json = state.to_json();
  EXPECT_TRUE(json.ends_with(R"("changes":[[2,64,1],[],[],[["",128,"step 7","1f"]]]})")) << json;
  const Result<Checkpoint> read = Checkpoint::from_json(json);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->changes, state.changes);
  for (const std::string damaged : {R"(["",128,"step 7"])", R"(["",-1,"step 7","1f"])", R"(["",128,7,"1f"])", "1"}) {
    std::string other = json;
    const std::string entry = R"(["",128,"step 7","1f"])";
    other.replace(other.find(entry), entry.size(), damaged);
    EXPECT_EQ(Checkpoint::from_json(other).status().code(), Code::kInvalidArgument) << damaged;
  }
}

TEST(Checkpoint, damaged_changes_are_refused) {
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"[2,64,1]", "[9,64,1]"},
                                                        {"[2,64,1]", "[2,64]"},
                                                        {"[2,64,1]", "[2,64,-1]"},
                                                        {"[600,200]", "[600,\"x\"]"},
                                                        {"[600,200]", "600"},
                                                        {"[\"code\",3,60]", "[3,60]"},
                                                        {"[\"code\",3,60]", "3"},
                                                        {"\"code\",70,", "70,70,"},
                                                        {"\"changes\":[", "\"changes\":[1,"}}) {
    std::string json = example_of_parts().to_json();
    const size_t at = json.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    EXPECT_EQ(Checkpoint::from_json(json.replace(at, from.size(), to)).status().code(), Code::kInvalidArgument) << to;
  }
}

TEST(Checkpoint, says_which_parts_differ) {
  const Checkpoint saved = example_of_parts();
  Checkpoint running = saved;
  running.pipeline = "x";
  running.samples = 7;
  running.parts = {{"web", 5000, 0}, {"web/en", 4001, 0}, {"web/fr", 1000, 0}, {"code", 70, 0}};
  const std::string message = check_same(saved, running, false, true).message();
  EXPECT_NE(message.find("'web/en' had 4000 samples and has 4001, 'web/fr' is new, 'web/de' is gone"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("parts=\"changed\""), std::string::npos) << message;
  EXPECT_NE(check_same(saved, running, false, false).message().find("1281167 samples, this one has 7"),
            std::string::npos);
}

Checkpoint example_of_a_stream() {
  Checkpoint state = example();
  state.cursor.position = 40;  // behind the end that a stream does not have
  state.samples = 0;
  state.replay = {"v1",
                  {{-1, {9, true, {{3, 0}, {8, 1}}, 1}}, {4, {1, false, {{5, 2}}, 0}}},
                  true,
                  {{{3, {0, "17-3", ""}}, {8, {1, "9", "7"}}}}};
  state.streams[""] = {{"a", "b"}, {40, {"17-9", "12"}, {0, 2}}};
  return state;
}

TEST(Checkpoint, of_a_stream_with_a_replay_buffer_round_trips) {
  const std::string json = example_of_a_stream().to_json();
  EXPECT_TRUE(
      json.ends_with(R"("rehearsal":{"source":"v1","classes":[[-1,9,true,1,[3,8],[0,1]],[4,1,false,0,[5],[2]]],)"
                     R"("places":[[3,0,"17-3",""],[8,1,"9","7"]]},)"
                     R"("streams":{"":{"number":40,"partitions":[["a","17-9"],["b","12",2]]}}})"))
      << json;
  const Result<Checkpoint> read = Checkpoint::from_json(json);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->to_json(), json);
  EXPECT_EQ(read->replay->classes, example_of_a_stream().replay->classes);
  EXPECT_EQ(read->replay->records, example_of_a_stream().replay->records);
  EXPECT_EQ(read->streams.at("").place, example_of_a_stream().streams.at("").place);
}

TEST(Checkpoint, places_of_several_streams_round_trip_by_their_parts) {
  Checkpoint state = example();
  state.samples = int64_t{3} << 53;  // a mix of streams has more than one of them
  state.streams["live"] = {{"a"}, {40, {"17-9"}, {0}}};
  state.streams["more/news"] = {{"a", "b"}, {7, {"", "3"}, {0, 0}}};
  const std::string json = state.to_json();
  EXPECT_TRUE(json.ends_with(R"("streams":{"live":{"number":40,"partitions":[["a","17-9"]]},)"
                             R"("more/news":{"number":7,"partitions":[["a",""],["b","3"]]}}})"))
      << json;
  const Result<Checkpoint> read = Checkpoint::from_json(json);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->to_json(), json);
  EXPECT_EQ(read->samples, state.samples);
  EXPECT_EQ(read->stream_at("live")->place, state.streams["live"].place);
  EXPECT_EQ(read->stream_at("").status().code(), Code::kStateMismatch) << "of a stream by itself";
  for (const char* damage : {R"("streams":[])", R"("streams":{"live":[]})", R"("streams":{"live":null})"}) {
    const std::string damaged = json.substr(0, json.find("\"streams\"")) + damage + "}";
    EXPECT_EQ(Checkpoint::from_json(damaged).status().code(), Code::kInvalidArgument) << damaged;
  }
}

TEST(Checkpoint, damaged_replay_buffers_are_refused) {
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{R"("classes":)", R"("class":)"},
                                                        {"[-1,9,", R"(["x",9,)"},
                                                        {"[-1,9,", "[-1,1,"},  // fewer than are kept
                                                        {"true,1,", "1,1,"},
                                                        {"true,1,", "true,2,"},  // a place that the class does not have
                                                        {"[3,8]", "[3,-8]"},
                                                        {"[3,8]", "[3,18446744073709551615]"},
                                                        {"[3,8]", "3"},
                                                        {"[0,1]", "[0]"},
                                                        {"[0,1]", "[0,-1]"},
                                                        {R"([3,0,"17-3",""])", R"([-3,0,"17-3",""])"},
                                                        {R"([3,0,"17-3",""])", R"([3,-1,"17-3",""])"},
                                                        {R"([3,0,"17-3",""])", R"([3,0,17,""])"},
                                                        {R"([3,0,"17-3",""])", R"([3,0,"17-3"])"},
                                                        {R"("":{)", R"("":null,"x":{)"}}) {
    std::string json = example_of_a_stream().to_json();
    const size_t at = json.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    EXPECT_EQ(Checkpoint::from_json(json.replace(at, from.size(), to)).status().code(), Code::kInvalidArgument) << to;
  }
}

}  // namespace
}  // namespace forebay
