#include "pipeline/branches.h"

#include <gtest/gtest.h>

#include "pipeline/batch_rules.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {
namespace {

OpSpec spec_of(std::string name, Json args = Json::object()) { return {std::move(name), std::move(args), nullptr, ""}; }

Description mix_of(std::vector<PipelinePart> parts, Json args = Json::object()) {
  OpSpec source = spec_of("mix", std::move(args));
  source.parts = std::move(parts);
  return Description(std::move(source));
}

const Catalog& repeats() {
  static const Catalog catalog = [] {
    OpDef repeat;
    repeat.name = "repeat";
    repeat.effect = OpEffect::kRepeating;
    OpDef pack;
    pack.name = "pack";
    pack.effect = OpEffect::kPacking;
    return Catalog({repeat, pack}, {"zip"});
  }();
  return catalog;
}

std::vector<std::string> names_of(const Description& description) {
  std::vector<std::string> names;
  for (const OpSpec& step : description.steps()) names.push_back(step.name);
  return names;
}

using Names = std::vector<std::string>;
using Numbers = std::vector<size_t>;

TEST(Branches, a_pipeline_without_parts_is_one) {
  const Description description = Description(spec_of("text")).append(spec_of("repeat")).append(spec_of("batch"));
  const std::vector<Branch> branches = branches_of(description, repeats());
  ASSERT_EQ(branches.size(), 1u);
  EXPECT_EQ(&branches[0].description.steps(), &description.steps());
  EXPECT_EQ(branches[0].numbers, (Numbers{0, 1, 2}));
  EXPECT_EQ(branches[0].name(), "");
}

TEST(Branches, an_empty_description_is_one_without_steps) {
  const std::vector<Branch> branches = branches_of(Description(), repeats());
  ASSERT_EQ(branches.size(), 1u);
  EXPECT_TRUE(branches[0].numbers.empty());
}

TEST(Branches, have_the_steps_of_their_part_and_those_around_it) {
  const Description en = Description(spec_of("text")).append(spec_of("shuffle")), de = Description(spec_of("jsonl"));
  const Description code = Description(spec_of("parquet")).append(spec_of("repeat"));
  const Description all =
      mix_of({{"web", mix_of({{"en", en}, {"de", de}}).append(spec_of("tokenize"))}, {"code", code}})
          .append(spec_of("cast"))
          .append(spec_of("repeat"))
          .append(spec_of("batch"));
  const std::vector<Branch> branches = branches_of(all, repeats());
  ASSERT_EQ(branches.size(), 3u);
  EXPECT_EQ(branches[0].name(), "web/en");
  EXPECT_EQ(names_of(branches[0].description), (Names{"text", "shuffle", "tokenize", "cast", "batch"}));
  // 0 text, 1 shuffle, 2 jsonl, 3 the inner mix, 4 tokenize, 5 parquet, 6 repeat, 7 the outer mix,
  // 8 cast, 9 repeat, 10 batch
  EXPECT_EQ(branches[0].numbers, (Numbers{0, 1, 4, 8, 10}));
  EXPECT_EQ(branches[1].path, (Names{"web", "de"}));
  EXPECT_EQ(names_of(branches[1].description), (Names{"jsonl", "tokenize", "cast", "batch"}));
  EXPECT_EQ(branches[1].numbers, (Numbers{2, 4, 8, 10}));
  EXPECT_EQ(branches[2].name(), "code");
  EXPECT_EQ(names_of(branches[2].description), (Names{"parquet", "repeat", "cast", "batch"})) << "its own repeat";
  EXPECT_EQ(branches[2].numbers, (Numbers{5, 6, 8, 10}));
  EXPECT_EQ(all.step_count(), 11u);
}

TEST(Branches, make_blocks_of_samples_of_several_parts_anew_in_each_epoch) {
  const Description packed = Description(spec_of("text")).append(spec_of("pack"));
  const auto pack_of = [](const Branch& branch) { return branch.description.steps().back(); };
  for (const Branch& branch :
       branches_of(mix_of({{"a", Description(spec_of("text"))}, {"b", Description(spec_of("text"))}})
                       .append(spec_of("pack", {{"length", 8}})),
                   repeats())) {
    EXPECT_TRUE(packs_each_epoch(pack_of(branch)));
    EXPECT_EQ(pack_of(branch).args["length"], 8);
  }
  for (const Branch& branch : branches_of(mix_of({{"a", packed}, {"b", packed}}), repeats()))
    EXPECT_FALSE(packs_each_epoch(pack_of(branch))) << "blocks of one part";
  EXPECT_FALSE(packs_each_epoch(pack_of(branches_of(packed, repeats()).front())));
  EXPECT_TRUE(packs_each_epoch(spec_of("pack", {{"arrange", "epoch"}})));
}

TEST(Branches, name_their_steps_by_the_pipelines_that_these_are_in) {
  const Description all =
      mix_of(
          {{"web", mix_of({{"en", Description(spec_of("text")).append(spec_of("shuffle"))}}).append(spec_of("cast"))}})
          .append(spec_of("batch"));
  const Branch branch = branches_of(all, repeats()).front();
  Names places;
  for (size_t i = 0; i < branch.numbers.size(); ++i) places.push_back(place_of(branch.description.steps(), i));
  EXPECT_EQ(places, (Names{"web/en: 0: text", "web/en: 1: shuffle", "web: 1: cast", "1: batch"}));
}

TEST(Branches, get_the_number_of_their_part_as_a_field) {
  const Description inner =
      mix_of({{"a", Description(spec_of("text"))}, {"b", Description(spec_of("text"))}}, {{"field", "inner"}});
  const Description all =
      mix_of({{"x", inner}, {"y", Description(spec_of("text"))}}, {{"field", "outer"}}).append(spec_of("batch"));
  const std::vector<Branch> branches = branches_of(all, repeats());
  ASSERT_EQ(branches.size(), 3u);
  EXPECT_EQ(names_of(branches[1].description), (Names{"text", "part_number", "part_number", "batch"}));
  EXPECT_EQ(branches[1].numbers, (Numbers{1, 2, 4, 5}));
  EXPECT_EQ(branches[1].description.steps()[1].args, (Json{{"field", "inner"}, {"value", 1}}));
  EXPECT_EQ(branches[1].description.steps()[2].args, (Json{{"field", "outer"}, {"value", 0}}));
  EXPECT_EQ(branches[2].description.steps()[1].args, (Json{{"field", "outer"}, {"value", 1}}));
}

TEST(Branches, get_a_step_for_fields_that_they_lack) {
  const Description inner =
      mix_of({{"a", Description(spec_of("text"))}, {"b", Description(spec_of("text"))}}, {{"missing", "mask"}});
  const Description all =
      mix_of({{"x", inner}, {"y", Description(spec_of("text"))}}, {{"missing", "mask"}, {"field", "outer"}})
          .append(spec_of("batch"));
  const std::vector<Branch> branches = branches_of(all, repeats());
  ASSERT_EQ(branches.size(), 3u);
  EXPECT_EQ(names_of(branches[0].description), (Names{"text", "fill_missing", "fill_missing", "part_number", "batch"}));
  EXPECT_EQ(branches[0].numbers, (Numbers{0, 2, 4, 4, 5})) << "those of an inner mix come first";
  EXPECT_EQ(names_of(branches[2].description), (Names{"text", "fill_missing", "part_number", "batch"}));
}

TEST(Branches, of_parts_side_by_side_are_one) {
  OpSpec zip = spec_of("zip", {{"on", "number"}});
  zip.parts = {{"image", Description(spec_of("images")).append(spec_of("shuffle"))},
               {"mask", Description(spec_of("files")).append(spec_of("decode"))}};
  const Description all = Description(zip).append(spec_of("repeat")).append(spec_of("batch"));
  const std::vector<Branch> branches = branches_of(all, repeats());
  ASSERT_EQ(branches.size(), 1u);
  const std::vector<OpSpec>& steps = branches[0].description.steps();
  EXPECT_EQ(names_of(branches[0].description),
            (Names{"zip", "shuffle", "decode", "leave_out", "join_parts", "repeat", "batch"}));
  // 0 images, 1 shuffle, 2 files, 3 decode, 4 zip, 5 repeat, 6 batch
  const Numbers& numbers = branches[0].numbers;
  EXPECT_EQ((Numbers{numbers[0], numbers[1], numbers[2], numbers[5], numbers[6]}), (Numbers{4, 1, 3, 5, 6}));
  Names parts;
  for (const OpSpec& step : steps) parts.push_back(step.part);
  EXPECT_EQ(parts, (Names{"", "image", "mask", "mask", "", "", ""}));
  EXPECT_EQ(steps[3].args, (Json{{"names", {"key", "number"}}}));
  EXPECT_EQ(steps[4].args, (Json{{"of", {"image", "mask"}}}));
  EXPECT_EQ(place_of(steps, 2), "mask: 1: decode");
  EXPECT_EQ(place_of(steps, 4), "0: zip");
}

TEST(Branches, have_the_parts_that_repeat) {
  OpSpec zip = spec_of("zip");
  zip.parts = {{"image", Description(spec_of("images")).append(spec_of("repeat")).append(spec_of("decode"))},
               {"mask", Description(spec_of("files"))}};
  const Branch branch = branches_of(Description(zip).append(spec_of("repeat")), repeats()).front();
  EXPECT_EQ(names_of(branch.description), (Names{"zip", "decode", "leave_out", "join_parts", "repeat"}))
      << "those of all pairs alone";
  ASSERT_EQ(branch.choosing.size(), 1u);
  EXPECT_EQ(branch.choosing[0].name(), "image");
  EXPECT_EQ(names_of(branch.choosing[0].description), (Names{"images", "repeat", "decode"}));
}

const Catalog& draws() {
  static const Catalog catalog = [] {
    OpDef sample, shuffle;
    sample.name = "sample";
    sample.effect = OpEffect::kDrawing;
    shuffle.name = "shuffle";
    shuffle.effect = OpEffect::kOrder;
    return Catalog({sample, shuffle}, {"zip"});
  }();
  return catalog;
}

TEST(Branches, have_the_parts_that_they_draw_from) {
  OpSpec zip = spec_of("zip");
  const Description noise =
      Description(spec_of("files")).append(spec_of("decode")).append(spec_of("shuffle")).append(spec_of("sample"));
  zip.parts = {{"speech", Description(spec_of("files")).append(spec_of("shuffle")).append(spec_of("sample"))},
               {"noise", noise.append(spec_of("cast"))},
               {"mask", Description(spec_of("files")).append(spec_of("shuffle"))}};
  const Description mix = mix_of({{"zip", Description(zip)}}).append(spec_of("batch"));
  const Branch branch = branches_of(mix, draws()).front();
  EXPECT_EQ(names_of(branch.description), (Names{"zip", "shuffle", "sample", "decode", "cast", "leave_out", "shuffle",
                                                 "leave_out", "join_parts", "batch"}))
      << "without the steps that choose in such a part";
  EXPECT_EQ(source_steps(branch.description), 9u);
  ASSERT_EQ(branch.choosing.size(), 1u) << "the first part gives the order, and a shuffle draws nothing";
  const Branch& drawn = branch.choosing.front();
  EXPECT_EQ(drawn.name(), "zip/noise");
  EXPECT_EQ(names_of(drawn.description), (Names{"files", "decode", "shuffle", "sample", "cast"}));
  EXPECT_EQ(drawn.numbers, (Numbers{3, 4, 5, 6, 7}));
  EXPECT_EQ(place_of(drawn.description.steps(), 3), "zip/noise: 3: sample");
  EXPECT_EQ(drawn.description.steps()[1].part, "") << "its fields have their own names";
  EXPECT_EQ(source_steps(drawn.description), 1u);
}

TEST(Branches, have_choices_of_a_part_beside_others_in_the_part_alone) {
  OpDef take, shuffle;
  take.name = "take";
  take.effect = OpEffect::kTaking;
  shuffle.name = "shuffle";
  shuffle.effect = OpEffect::kOrder;
  const Catalog catalog({take, shuffle}, {"zip"});
  OpSpec zip = spec_of("zip");
  zip.parts = {{"a", Description(spec_of("files")).append(spec_of("shuffle")).append(spec_of("take"))},
               {"b", Description(spec_of("dataset")).append(spec_of("decode"))}};
  const Branch branch = branches_of(Description(zip), catalog).front();
  EXPECT_EQ(names_of(branch.description),
            (Names{"zip", "shuffle", "dataset_items", "decode", "leave_out", "join_parts"}));
  EXPECT_EQ(branch.description.steps()[2].part, "b");
  EXPECT_EQ(branch.numbers[2], 3u) << "that of the source, whose function it calls";
  EXPECT_EQ(place_of(branch.description.steps(), 2), "b: 0: dataset");
  ASSERT_EQ(branch.choosing.size(), 1u);
  EXPECT_EQ(names_of(branch.choosing[0].description), (Names{"files", "shuffle", "take"}));
}

TEST(Branches, keep_what_their_steps_hold) {
  const auto function = std::make_shared<int>(3);
  const Description part = Description(spec_of("text")).append({"map", Json::object(), function, "<f>"});
  const Branch branch = branches_of(mix_of({{"a", part}}), repeats()).front();
  EXPECT_EQ(branch.description.steps()[1].attachment, function);
  EXPECT_EQ(branch.description.steps()[1].attachment_name, "<f>");
}

TEST(Branches, of_a_thousand_parts_are_numbered_alike) {
  std::vector<PipelinePart> parts;
  for (int i = 0; i < 1000; ++i)
    parts.push_back({std::to_string(i), Description(spec_of("text")).append(spec_of("shuffle"))});
  const std::vector<Branch> branches = branches_of(mix_of(std::move(parts)).append(spec_of("batch")), repeats());
  ASSERT_EQ(branches.size(), 1000u);
  EXPECT_EQ(branches[999].numbers, (Numbers{1998, 1999, 2001}));
}

}  // namespace
}  // namespace forebay
