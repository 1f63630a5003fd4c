#include "base/suggest.h"

#include <gtest/gtest.h>

#include <vector>

namespace forebay {
namespace {

const std::vector<std::string> kVerbNames = {"demo", "inspect", "plan", "run"};

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("plan", "plan"), 0);
  EXPECT_EQ(edit_distance("", "run"), 3);
  EXPECT_EQ(edit_distance("plan", "plans"), 1);
  EXPECT_EQ(edit_distance("plan", "pan"), 1);
  EXPECT_EQ(edit_distance("plan", "plun"), 1);
  EXPECT_EQ(edit_distance("plan", "paln"), 1);
  EXPECT_EQ(edit_distance("demo", "run"), 4);
}

TEST(Suggest, FindsWhatWasMistyped) {
  EXPECT_EQ(suggest("inspct", kVerbNames), "inspect");
  EXPECT_EQ(suggest("rnu", kVerbNames), "run");
  EXPECT_EQ(suggest("plna", kVerbNames), "plan");
}

TEST(Suggest, FindsWhatWasBegun) { EXPECT_EQ(suggest("ins", kVerbNames), "inspect"); }

TEST(Suggest, SaysNothingWhereNothingIsNear) {
  EXPECT_EQ(suggest("benchmark", kVerbNames), "");
  EXPECT_EQ(suggest("", kVerbNames), "");
  EXPECT_EQ(suggest(std::string(1 << 20, 'x'), kVerbNames), "");
  EXPECT_EQ(suggestion_text("benchmark", kVerbNames), "");
}

TEST(Suggest, ReadsWellInASentence) { EXPECT_EQ(suggestion_text("dmeo", kVerbNames), " (did you mean 'demo'?)"); }

}  // namespace
}  // namespace forebay
