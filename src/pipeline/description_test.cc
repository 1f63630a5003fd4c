#include "pipeline/description.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {
namespace {

Description example() {
  return Description({"images", {{"root", "photos/train"}}, nullptr, ""})
      .append({"shuffle", Json::object(), nullptr, ""})
      .append({"random_resized_crop", {{"n", 224}, {"scale", {0.08, 1.0}}}, nullptr, ""})
      .append({"batch", {{"n", 64}, {"last", "drop"}}, nullptr, ""});
}

Catalog roles() {
  OpDef batch, cache;
  batch.name = "batch";
  batch.effect = OpEffect::kBatching;
  cache.name = "cache";
  cache.effect = OpEffect::kCaching;
  return Catalog({batch, cache});
}

TEST(Description, append_leaves_the_original_alone) {
  const Description before = example();
  const Description after = before.append({"take", {{"n", 1}}, nullptr, ""});
  EXPECT_EQ(before.steps().size(), 4u);
  EXPECT_EQ(after.steps().size(), 5u);
}

TEST(Description, reads_like_what_was_typed) {
  EXPECT_EQ(example().to_string(),
            "images(root=\"photos/train\")\n  .shuffle()\n  .random_resized_crop(n=224, scale=[0.08,1.0])\n  "
            ".batch(n=64, last=\"drop\")");
}

TEST(Description, json_goes_both_ways) {
  const Result<std::string> json = example().to_json();
  ASSERT_TRUE(json.ok());
  const Result<Description> read = Description::from_json(*json);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->to_string(), example().to_string());
  EXPECT_EQ(read->fingerprint(roles()), example().fingerprint(roles()));
  EXPECT_EQ(*read->to_json(), *json);
}

TEST(Description, user_code_cannot_be_saved_and_the_step_is_named) {
  const Status status = example().append({"map", Json::object(), nullptr, "<function augment>"}).to_json().status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("<function augment>"), std::string::npos);
}

TEST(Description, names_that_json_cannot_hold_are_refused) {
  EXPECT_EQ(Description({"images", {{"root", "photos/\xff"}}, nullptr, ""}).to_json().status().code(),
            Code::kInvalidArgument);
}

TEST(Description, garbage_is_refused) {
  const std::string deep(100'000, '['), closed = deep + std::string(100'000, ']');
  for (const std::string& text : std::vector<std::string>{
           "", "{", "null", "[]", "{}", "42", R"({"forebay_pipeline": 1})", R"({"forebay_pipeline": 1, "steps": {}})",
           R"({"forebay_pipeline": 1, "steps": []})", R"({"forebay_pipeline": 1, "steps": [1]})",
           R"({"forebay_pipeline": 1, "steps": [{"op": 3}]})",
           R"({"forebay_pipeline": 1, "steps": [{"name": "images"}]})",
           R"({"forebay_pipeline": 2, "steps": [{"op": "images"}]})",
           R"({"forebay_pipeline": "1", "steps": [{"op": "images"}]})", deep, closed,
           R"({"forebay_pipeline": 1, "steps": [{"op": "images", "root": )" + closed + "}]}"}) {
    const Result<Description> read = Description::from_json(text);
    EXPECT_FALSE(read.ok()) << text.substr(0, 100);
    EXPECT_FALSE(read.status().message().empty());
  }
}

TEST(Description, fingerprint_is_of_all_but_batch_caches_and_place) {
  const Hash128 fingerprint = example().fingerprint(roles());
  const auto same = [&](const Description& other) { return other.fingerprint(roles()) == fingerprint; };
  const auto rebuilt = [](size_t changed, OpSpec op) {
    const Description original = example();
    Description result;
    for (size_t i = 0; i < original.steps().size(); ++i) {
      const OpSpec& step = i == changed ? op : original.steps()[i];
      result = i == 0 ? Description(step) : result.append(step);
    }
    return result;
  };
  EXPECT_TRUE(same(rebuilt(3, {"batch", {{"n", 8}}, nullptr, ""}))) << "another batch size";
  EXPECT_TRUE(same(rebuilt(0, {"images", {{"root", "elsewhere"}}, nullptr, ""}))) << "moved";
  EXPECT_TRUE(same(example().append({"cache", {{"ram", "2GiB"}}, nullptr, ""})));
  EXPECT_FALSE(same(rebuilt(2, {"random_resized_crop", {{"n", 225}, {"scale", {0.08, 1.0}}}, nullptr, ""})));
  EXPECT_FALSE(same(rebuilt(1, {"take", {{"n", 5}}, nullptr, ""})));
  EXPECT_FALSE(same(rebuilt(0, {"files", {{"root", "photos/train"}}, nullptr, ""})));
  EXPECT_FALSE(same(example().append({"map", Json::object(), nullptr, "<function f>"})));
  EXPECT_FALSE(example().append({"map", Json::object(), nullptr, "<f>"}).fingerprint(roles()) ==
               example().append({"map", Json::object(), nullptr, "<g>"}).fingerprint(roles()));
}

// ---- trees

OpSpec step_of(std::string name, Json args = Json::object()) { return {std::move(name), std::move(args), nullptr, ""}; }

Description tree_of(std::vector<PipelinePart> parts, Json args = Json::object()) {
  OpSpec source = step_of("mix", std::move(args));
  source.parts = std::move(parts);
  return Description(std::move(source));
}

Description web() { return Description(step_of("parquet", {{"pattern", "web/*"}})).append(step_of("shuffle")); }
Description code() { return Description(step_of("text", {{"pattern", "code"}})); }

Description nested() {
  return tree_of(
             {{"web", tree_of({{"en", web()}, {"de", web().append(step_of("take", {{"n", 5}}))}})}, {"code", code()}},
             {{"weights", {{"web", 3}, {"code", 1}}}})
      .append(step_of("batch", {{"n", 4}}));
}

TEST(DescriptionTree, reads_like_what_was_typed) {
  EXPECT_EQ(nested().to_string(), R"(mix(weights={"web":3,"code":1})
  web:
    mix()
      en:
        parquet(pattern="web/*")
          .shuffle()
      de:
        parquet(pattern="web/*")
          .shuffle()
          .take(n=5)
  code:
    text(pattern="code")
  .batch(n=4))");
}

TEST(DescriptionTree, counts_steps_and_levels) {
  EXPECT_EQ(example().step_count(), 4u);
  EXPECT_EQ(example().depth(), 0u);
  EXPECT_EQ(nested().step_count(), 2u + 3u + 1u + 1u + 2u);
  EXPECT_EQ(nested().depth(), 2u);
}

TEST(DescriptionTree, json_goes_both_ways) {
  const Result<std::string> json = nested().to_json();
  ASSERT_TRUE(json.ok());
  const Result<Description> read = Description::from_json(*json);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->to_string(), nested().to_string());
  EXPECT_EQ(read->fingerprint(roles()), nested().fingerprint(roles()));
  EXPECT_EQ(*read->to_json(), *json);
}

TEST(DescriptionTree, user_code_in_a_part_cannot_be_saved_and_the_part_is_named) {
  const Description mapped = code().append({"map", Json::object(), nullptr, "<function augment>"});
  const Status status = tree_of({{"a", tree_of({{"b", mapped}})}}).to_json().status();
  EXPECT_NE(status.message().find("step 1 of the part 'a/b': map"), std::string::npos) << status.message();
}

std::string with_parts(const std::string& parts) {
  return R"({"forebay_pipeline": 1, "steps": [{"op": "mix", "parts": )" + parts + "}]}";
}

TEST(DescriptionTree, garbage_is_refused) {
  for (const char* parts :
       {"1", "{}", "[1]", R"([{"name": "a"}])", R"([{"steps": []}])", R"([{"name": 1, "steps": [{"op": "x"}]}])",
        R"([{"name": "a", "steps": []}])", R"([{"name": "a", "steps": [{}]}])", R"([{"name": "a", "steps": {}}])",
        R"([{"name": "a", "steps": [{"op": "x"}], "more": 1}])"}) {
    const Result<Description> read = Description::from_json(with_parts(parts));
    EXPECT_FALSE(read.ok()) << parts;
    EXPECT_FALSE(read.status().message().empty());
  }
}

std::string many_steps(size_t n) {
  std::string steps;
  for (size_t i = 0; i < n; ++i) steps += std::string(i > 0 ? "," : "") + R"({"op": "x"})";
  return "[" + steps + "]";
}

TEST(DescriptionTree, what_grows_without_bound_is_refused) {
  std::string deep = R"([{"op": "x"}])";
  for (size_t level = 0; level <= kDeepestParts; ++level) {
    const Result<Description> read = Description::from_json(R"({"forebay_pipeline": 1, "steps": )" + deep + "}");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->depth(), level);
    deep = R"([{"op": "mix", "parts": [{"name": "a", "steps": )" + deep + "}]}]";
  }
  EXPECT_FALSE(Description::from_json(R"({"forebay_pipeline": 1, "steps": )" + deep + "}").ok());
  EXPECT_TRUE(Description::from_json(with_parts(R"([{"name": "a", "steps": )" + many_steps(1000) + "}]")).ok());
  EXPECT_FALSE(Description::from_json(with_parts(R"([{"name": "a", "steps": )" + many_steps(1001) + "}]")).ok());
  std::string parts;
  for (int i = 0; i < 101; ++i) {
    parts += (i > 0 ? "," : "") + fmt::format(R"({{"name": "{}", "steps": {}}})", i, many_steps(1000));
  }
  EXPECT_FALSE(Description::from_json(with_parts("[" + parts + "]")).ok());
}

TEST(DescriptionTree, fingerprint_is_of_parts_and_of_how_they_are_mixed) {
  const auto print = [](const Description& description) { return description.fingerprint(roles()); };
  const Hash128 mixed =
      print(tree_of({{"web", web()}, {"code", code()}}, {{"weights", {{"web", 3.0}, {"code", 1.0}}}}));
  const auto again = [&](std::vector<PipelinePart> parts, Json weights) {
    return print(tree_of(std::move(parts), {{"weights", std::move(weights)}}));
  };
  const Json weights = {{"web", 3.0}, {"code", 1.0}};
  const Description moved = Description(step_of("parquet", {{"pattern", "elsewhere/*"}})).append(step_of("shuffle"));
  EXPECT_EQ(again({{"web", moved}, {"code", code()}}, weights), mixed) << "moved";
  EXPECT_EQ(again({{"web", web().append(step_of("cache"))}, {"code", code()}}, weights), mixed) << "a cache";
  EXPECT_FALSE(again({{"code", code()}, {"web", web()}}, weights) == mixed) << "another order of parts";
  EXPECT_FALSE(again({{"web", web()}, {"code", code()}}, {{"web", 2.0}, {"code", 1.0}}) == mixed);
  EXPECT_FALSE(again({{"net", web()}, {"code", code()}}, weights) == mixed) << "another name";
  EXPECT_FALSE(again({{"web", web()}}, weights) == mixed) << "a part fewer";
  EXPECT_FALSE(again({{"web", web().append(step_of("take", {{"n", 5}}))}, {"code", code()}}, weights) == mixed);
  EXPECT_FALSE(print(tree_of({{"a", web()}, {"b", code()}})) == print(tree_of({{"a", tree_of({{"b", code()}})}})))
      << "nesting";
}

TEST(Description, field_lists) {
  EXPECT_EQ(field_list("image"), std::vector<std::string>{"image"});
  EXPECT_EQ(field_list(Json({"a", "b"})), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(field_list(nullptr), std::vector<std::string>());
  EXPECT_EQ(field_list(3), std::vector<std::string>());
}

}  // namespace
}  // namespace forebay
