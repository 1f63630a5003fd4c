#include "stream/decision.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

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

TEST(StreamPlace, that_nests_deeper_than_a_stack_holds_is_refused) {
  const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
  EXPECT_EQ(StreamPlace::from_json(R"({"number": 0, "partitions": [)" + deep + "]}", {"a"}).status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
