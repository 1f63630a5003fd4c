#include "stream/decision.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "stream/journal.h"

namespace forebay {
namespace {

using Json = nlohmann::ordered_json;

Code refused(const std::string& decision, size_t partitions = 1) {
  return Decision::from_json(decision, partitions).status().code();
}

TEST(Decision, is_read_as_it_is_written) {
  for (const Decision& decision : {Decision{128, {{0, "17-3", 64, 0}, {2, "17-9", 64, 5}}, 0}, Decision{256, {}, 64},
                                   Decision{0, {{1, "7", 1, 0}}, 0, {"3", "6", ""}}})
    EXPECT_EQ(*Decision::from_json(decision.to_json(), 3), decision);
}

// The next decision would begin with the same number, and be the same line of a journal.
TEST(Decision, one_without_records_or_of_other_partitions_is_none) {
  for (const std::string text :
       {R"({"first": 5, "parts": []})", R"({"first": 5, "parts": [[0, "7", 0, 3]]})", R"({"first": 5, "missing": 0})",
        R"({"first": 5})", R"({"first": 0, "parts": [[0, "7", 1]], "after": ["1", "2"]})"})
    EXPECT_EQ(refused(text), Code::kInvalidArgument) << text;
}

TEST(Decision, takes_no_memory_for_a_number_and_adds_no_more_than_a_number_holds) {
  EXPECT_EQ(refused(R"({"first": 0, "missing": 9007199254740991})"), Code::kInvalidArgument);
  std::string many = R"({"first": 0, "parts": [)";
  for (int p = 0; p < 2000; ++p) many += (p > 0 ? ",[" : "[") + std::to_string(p) + R"(, "1", 9007199254740991])";
  EXPECT_EQ(refused(many + "]}", 2000), Code::kInvalidArgument);
}

StreamState example() { return {{"a", "b"}, {130, {"17-3", ""}, {0, 5}, Decision{128, {{0, "18-1", 4, 0}}}, true}}; }

TEST(StreamState, names_partitions_beside_their_offsets) {
  const std::string text = example().to_json().dump();
  EXPECT_EQ(text, R"({"number":130,"partitions":[["a","17-3"],["b","",5]],)"
                  R"("decision":{"first":128,"parts":[[0,"18-1",4]]},"sampled":true})");
  const Result<StreamState> read = StreamState::from_json(Json::parse(text));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(*read->place_in({"a", "b"}), example().place);
}

TEST(StreamState, of_other_partitions_does_not_match) {
  for (const std::vector<std::string>& others :
       std::vector<std::vector<std::string>>{{"a"}, {"b", "a"}, {"a", "c"}, {"a", "b", "c"}})
    EXPECT_EQ(example().place_in(others).status().code(), Code::kStateMismatch);
}

TEST(StreamState, nothing_in_it_is_trusted) {
  for (const char* const change :
       {R"([{"op": "replace", "path": "", "value": null}])", R"([{"op": "replace", "path": "", "value": []}])",
        R"([{"op": "remove", "path": "/number"}])", R"([{"op": "replace", "path": "/number", "value": -1}])",
        R"([{"op": "replace", "path": "/number", "value": 132}])",
        R"([{"op": "replace", "path": "/partitions", "value": {}}])",
        R"([{"op": "replace", "path": "/partitions/0", "value": ["a"]}])",
        R"([{"op": "replace", "path": "/partitions/0/1", "value": 17}])",
        R"([{"op": "replace", "path": "/partitions/1/2", "value": -5}])",
        R"([{"op": "replace", "path": "/decision/parts/0/0", "value": 2}])",
        R"([{"op": "replace", "path": "/decision", "value": 7}])"})
    EXPECT_EQ(StreamState::from_json(example().to_json().patch(Json::parse(change))).status().code(),
              Code::kInvalidArgument)
        << change;
}

TEST(JournalHeader, whose_place_nests_deeper_than_a_stack_holds_is_refused) {
  const JournalHeader header{.log = "log", .place = {0, {""}, {0}}};
  Json json = Json::parse(header.to_json({"a"}));
  ASSERT_TRUE(JournalHeader::from_json(json.dump(), {"a"}).ok());
  json["place"] = R"({"number": 0, "partitions": [)" + std::string(500'000, '[') + std::string(500'000, ']') + "]}";
  EXPECT_EQ(JournalHeader::from_json(json.dump(), {"a"}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
