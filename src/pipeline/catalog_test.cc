#include "pipeline/catalog.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

OpDef op(std::string name, std::function<void(const OpSpec&, Schema&, std::vector<Problem>&)> infer = nullptr) {
  OpDef def;
  def.name = std::move(name);
  def.infer = std::move(infer);
  if (def.name == "batch") def.effect = OpEffect::kBatching;
  return def;
}

Catalog example_catalog() {
  return Catalog({op("resize"), op("batch"), op("random_flip"),
                  op("complain", [](const OpSpec&, Schema&, std::vector<Problem>& problems) {
                    problems.push_back({"", "something", "a remedy"});
                  })});
}

Description steps(std::vector<std::string> names) {
  Description description({"source", Json::object(), nullptr, ""});
  for (std::string& name : names) description = description.append({std::move(name), Json::object(), nullptr, ""});
  return description;
}

TEST(Catalog, suggests_the_nearest_name_and_none_for_what_is_far) {
  const Catalog catalog = example_catalog();
  EXPECT_EQ(catalog.nearest("rezise"), "resize");
  EXPECT_EQ(catalog.nearest("random_flop"), "random_flip");
  EXPECT_EQ(catalog.nearest("transmogrify"), "");
  ASSERT_NE(catalog.find("resize"), nullptr);
  EXPECT_EQ(catalog.find("rezise"), nullptr);
}

TEST(Catalog, all_problems_are_found_at_once) {
  const Inference found =
      infer(steps({"rezise", "complain", "batch", "batch", "resize", "complain"}), Schema(), example_catalog());
  std::vector<std::string> places;
  for (const Problem& problem : found.problems) places.push_back(problem.op + ": " + problem.message);
  EXPECT_EQ(places, (std::vector<std::string>{"1: rezise: there is no operator 'rezise'", "2: complain: something",
                                              "4: batch: the samples are batched already",
                                              "5: resize: it stands behind .batch()",
                                              "6: complain: it stands behind .batch()", "6: complain: something"}));
  for (const Problem& problem : found.problems) EXPECT_FALSE(problem.remedy.empty());
  EXPECT_EQ(found.schemas.size(), 7u);
}

}  // namespace
}  // namespace forebay
