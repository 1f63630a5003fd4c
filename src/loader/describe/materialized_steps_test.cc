#include "loader/describe/materialized_steps.h"

#include <gtest/gtest.h>

#include "pipeline/op_spec.h"

namespace forebay {
namespace {

TEST(MaterializedSteps, the_original_source_is_known_if_json_can_express_it) {
  const auto source =
      original_source(R"([{"op":"files","args":{"pattern_or_list":"a/*.jpg"}},{"op":"decode_image","args":{}}])");
  ASSERT_TRUE(source);
  EXPECT_EQ(source->name, "files");
  EXPECT_EQ(source->args["pattern_or_list"], "a/*.jpg");
  EXPECT_FALSE(original_source(R"([{"op":"dataset","args":{},"attachment":"<mine>"}])"));
  EXPECT_FALSE(original_source(R"([{"op":"files","args":{},"hidden":true}])"));
}

// A manifest is a file, so its content is untrusted.
TEST(MaterializedSteps, steps_of_wrong_types_are_ignored) {
  for (const char* text : {"", "{}", "[]", "[1]", "[null]"}) EXPECT_FALSE(original_source(text)) << text;
  for (const char* text :
       {R"([{}])", R"([{"op":5,"args":7}])", R"([{"op":null,"args":[1]}])", R"([{"op":["files"]}])"}) {
    const auto source = original_source(text);
    ASSERT_TRUE(source) << text;
    EXPECT_EQ(source->name, "") << text;
    EXPECT_TRUE(source->args.is_object()) << text;
  }
}

}  // namespace
}  // namespace forebay
