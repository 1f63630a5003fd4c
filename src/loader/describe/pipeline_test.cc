// Checks the descriptions that the C++ API makes: arguments, numbers and problems, and the round
// trip through JSON.

#include "forebay/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "loader/compile/ordering.h"
#include "loader/describe/catalog_json.h"
#include "loader/describe/check.h"
#include "loader/describe/sources.h"
#include "pipeline/catalog.h"
#include "pipeline/description.h"
#include "pipeline/operator_bytes.h"

namespace forebay {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

const OpSpec& last_step(const Pipeline& pipeline) { return pipeline.description().steps().back(); }
std::string last_args(const Pipeline& pipeline) { return last_step(pipeline).args.dump(); }

const Pipeline kPictures = images("photos").decode_image();

TEST(PipelineFace, default_arguments_are_left_out) {
  EXPECT_EQ(last_args(kPictures.shuffle()), "{}");
  EXPECT_EQ(last_args(kPictures.shuffle({.block = 3})), R"({"block":3})");
  EXPECT_EQ(last_args(kPictures.clip({.max = 2, .field = {"x"}})), R"({"max":2,"field":"x"})");
  EXPECT_EQ(last_args(kPictures.batch(3)), R"({"n":3,"last":"partial"})");
}

TEST(PipelineFace, one_name_or_size_is_written_as_itself_and_several_as_a_list) {
  EXPECT_EQ(last_args(kPictures.log1p({"x"})), R"({"field":"x"})");
  EXPECT_EQ(last_args(kPictures.log1p({"x", "y"})), R"({"field":["x","y"]})");
  EXPECT_EQ(last_step(kPictures.center_crop(7)).args["n"], 7);
  EXPECT_EQ(last_step(kPictures.center_crop({7, 9})).args["n"], Json({7, 9}));
}

// Equal pipelines have one fingerprint in all languages, so integers are written as in Python.
TEST(PipelineFace, whole_numbers_are_written_as_whole_and_others_as_they_are) {
  const auto min_of = [](double value) {
    return last_step(kPictures.clip({.min = value, .field = {"x"}})).args["min"];
  };
  EXPECT_EQ(min_of(3.0).dump(), "3");
  EXPECT_EQ(min_of(-0x1p53).dump(), "-9007199254740992");
  EXPECT_TRUE(min_of(0x1p60).is_number_float()) << "beyond what is exact";
  EXPECT_EQ(min_of(0.5).dump(), "0.5");
  EXPECT_EQ(last_args(kPictures.clip({.min = -kUnbounded, .max = kUnbounded, .field = {"x"}})), R"({"field":"x"})")
      << "an infinite limit is none";
}

TEST(PipelineFace, numbers_that_json_has_not_are_words_and_come_back) {
  for (const auto& [value, word] :
       {std::pair(kUnbounded, "inf"), std::pair(-kUnbounded, "-inf"), std::pair(std::nan(""), "nan")}) {
    const Pipeline padded = kPictures.pad("x", value);
    EXPECT_EQ(last_step(padded).args["value"], word);
    EXPECT_EQ(Pipeline::from_json(padded.to_json().value())->to_string(), padded.to_string());
  }
}

TEST(PipelineFace, every_step_leaves_the_pipeline_before_it_as_it_was) {
  const std::string before = kPictures.to_string();
  const Pipeline one = kPictures.resize(8), other = kPictures.random_flip();
  EXPECT_EQ(kPictures.to_string(), before);
  EXPECT_NE(one.to_string(), other.to_string());
}

TEST(PipelineFace, everything_without_code_goes_through_json_and_back) {
  const Pipeline all[] = {
      images("photos", {.split_by = "none"}).decode_image({.mode = "gray"}).random_resized_crop(8).batch(4),
      files(std::vector<std::string>{"a", "b"}),
      manifest("list.csv", {.root = "there", .path = "file"}),
      arrays({{"x", {Tensor(), "x.npy"}}}).shuffle({.lanes = 2, .ramp = true}).take(5),
      parquet("t/*.parquet", {.columns = {"a"}})
          .hash_bucket(9, {.field = {"a"}})
          .cache({.ram = "1GiB", .disk = uint64_t{0}}),
      kPictures.color_jitter({.brightness = {0.1}, .hue = {-0.1, 0.1}})
          .normalize(imagenet())
          .layout("hwc")
          .cast("uint8"),
  };
  for (const Pipeline& pipeline : all) {
    const auto json = pipeline.to_json();
    ASSERT_TRUE(json.ok()) << json.status().to_string();
    const auto back = Pipeline::from_json(*json);
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_EQ(back->to_string(), pipeline.to_string());
    EXPECT_EQ(back->description().fingerprint(catalog()), pipeline.description().fingerprint(catalog()));
  }
}

TEST(PipelineFace, code_and_memory_of_the_program_cannot_be_saved_and_are_named) {
  const MapFunction nothing = [](Sample&) { return Status(); };
  const auto mapped = kPictures.map(nothing, {.name = "augment"}).to_json();
  EXPECT_EQ(mapped.status().code(), Code::kInvalidArgument);
  EXPECT_NE(mapped.status().message().find("augment"), std::string::npos) << mapped.status().message();
  EXPECT_FALSE(arrays({{"x", {Tensor::allocate(DType::kInt8, {3}), ""}}}).to_json().ok());
}

// ---- check()

TEST(CheckPipeline, an_empty_pipeline_needs_a_source) {
  const auto problems = Pipeline().check();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].remedy, "begin with a source");
  EXPECT_FALSE(Pipeline().classes().ok());
}

TEST(CheckPipeline, names_the_step_of_each_problem) {
  const Pipeline wrong = kPictures.random_crop(0).random_flip({.p = 3}).batch(0);
  const auto problems = wrong.check();
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0].op, "2: random_crop");
  EXPECT_EQ(problems[1].op, "3: random_flip");
  EXPECT_EQ(problems[2].op, "4: batch");
  const Status status = problems_as_status(problems);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_TRUE(status.message().starts_with("the pipeline has 3 problems:\n  2: random_crop: ")) << status.message();
}

TEST(CheckPipeline, steps_that_say_how_all_is_read_are_there_once) {
  const Pipeline log = stream("redis://host/0/x", {.fields = {{"x", "int64"}}});
  for (const Pipeline& twice : {log.buffer().buffer(), log.shuffle({.window = 9}).shuffle({.window = 9})}) {
    const auto problems = twice.batch(2).check();
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].op.substr(0, 2), "2:");
    EXPECT_NE(problems[0].message.find("already"), std::string::npos) << problems[0].message;
  }
}

TEST(CheckPipeline, problems_of_a_source_hide_their_consequences) {
  const auto made = Pipeline::from_json(
      R"({"forebay_pipeline": 1, "steps": [{"op": "imges", "root": "x"}, {"op": "resize", "size": 0}]})");
  ASSERT_TRUE(made.ok());
  const auto problems = made->check();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].op, "0: imges");
}

TEST(CheckPipeline, a_mistyped_operator_is_told_with_the_nearest) {
  const auto made = Pipeline::from_json(
      R"({"forebay_pipeline": 1, "steps": [{"op": "images", "root": "x"}, {"op": "random_crp", "n": 3}]})");
  const auto problems = made->check();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].remedy, "did you mean 'random_crop'?");
}

// ---- all pipelines

TEST(CatalogJson, says_everything_of_each_operator_and_source_once) {
  const Json all = describe_catalog();
  std::set<std::string> names;
  for (const char* list : {"operators", "sources"}) {
    for (const Json& one : all[list]) {
      EXPECT_TRUE(names.insert(one["name"]).second) << one["name"];
      EXPECT_FALSE(one["help"].get<std::string>().empty()) << one["name"];
      for (const Json& arg : one["args"]) {
        for (const char* word : {"name", "type", "form", "use", "faces"})
          EXPECT_FALSE(arg[word].get<std::string>().empty()) << one["name"] << " " << word;
        EXPECT_FALSE(arg["required"].get<bool>() && !arg["default"].is_null()) << one["name"] << " " << arg["name"];
      }
    }
  }
  const auto offered =
      std::ranges::count_if(catalog().ops(), [](const auto& op) { return !op.second.made_by_sources; });
  EXPECT_EQ(all["operators"].size(), static_cast<size_t>(offered));
  EXPECT_FALSE(names.contains("part_number")) << "only a source adds it";
  EXPECT_EQ(all["sources"].size(), sources().size());
  EXPECT_TRUE(names.contains("map") && names.contains("filter") && names.contains("images"));
}

TEST(CatalogJson, calls_effects_and_roles_by_words_that_say_what_they_are) {
  const Json all = describe_catalog();
  const auto words = [&](std::string_view name) {
    for (const Json& one : all["operators"])
      if (one["name"] == name) return one["effect"].get<std::string>() + ", " + one["role"].get<std::string>();
    return std::string();
  };
  EXPECT_EQ(words("resize"), "content, values");
  EXPECT_EQ(words("select"), "content, choice");
  EXPECT_EQ(words("rename"), "content, names");
  EXPECT_EQ(words("map"), "content, function");
  EXPECT_EQ(words("take"), "taking, none");
  EXPECT_EQ(words("filter"), "selection, none");
  EXPECT_EQ(words("shuffle"), "order, none");
  EXPECT_EQ(words("repeat"), "repeating, none");
  EXPECT_EQ(words("pack"), "packing, none");
  EXPECT_EQ(words("rehearse"), "replay, none");
  EXPECT_EQ(words("batch"), "batching, none");
  EXPECT_EQ(words("cache"), "caching, none");
  EXPECT_EQ(words("buffer"), "buffering, none");
}

// ---- many data sets as one

TEST(MixFace, writes_its_arguments_as_python_does) {
  const Pipeline a = text("a"), b = text("b");
  EXPECT_EQ(last_args(mix({{"a", a}, {"b", b}})), "{}");
  EXPECT_EQ(last_args(concat({a, b})), "{}");
  EXPECT_EQ(last_args(mix({{"b", b}, {"a", a}}, {.weights = {{"a", 3}, {"b", 1}}, .samples = 10, .field = "part"})),
            R"({"weights":{"b":1.0,"a":3.0},"samples":10,"field":"part"})")
      << "in the order of the parts";
  EXPECT_EQ(last_args(mix({{"a", a}}, {.schedule = {{0, {{"a", 1}}}, {100, {{"a", 2}}}}, .ramp = "linear"})),
            R"({"schedule":[[0,{"a":1.0}],[100,{"a":2.0}]],"ramp":"linear"})");
  EXPECT_EQ(last_args(mix({{"a", a}}, {.temperature = 2, .end = "all", .missing = "mask"})),
            R"({"temperature":2.0,"end":"all","missing":"mask"})");
  EXPECT_EQ(concat({a, b}).to_string(), "concat()\n  0:\n    text(pattern=\"a\")\n  1:\n    text(pattern=\"b\")");
}

TEST(MixFace, has_each_argument_of_the_catalog_in_order) {
  const Json args = mix({{"a", text("a")}}, {.weights = {{"a", 1}},
                                             .temperature = 2,
                                             .schedule = {{0, {{"a", 1}}}},
                                             .ramp = "linear",
                                             .samples = 3,
                                             .end = "all",
                                             .field = "part",
                                             .missing = "mask"})
                        .description()
                        .steps()
                        .front()
                        .args;
  std::vector<std::string> said, wanted;
  for (const auto& [name, value] : args.items()) said.push_back(name);
  for (const ArgDef& arg : find_source("mix")->args) wanted.push_back(arg.name);
  EXPECT_EQ(said, wanted);
}

TEST(MixFace, goes_through_json_and_is_checked) {
  const Pipeline pipeline = mix({{"a", text("a").shuffle()}, {"b", concat({{"c", text("c")}, {"d", text("d")}})}},
                                {.weights = {{"a", 1}, {"b", 0.5}}})
                                .repeat(2)
                                .batch(4);
  EXPECT_TRUE(pipeline.check().empty());
  const auto again = Pipeline::from_json(pipeline.to_json().value());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->to_string(), pipeline.to_string());
  EXPECT_EQ(again->description().fingerprint(catalog()), pipeline.description().fingerprint(catalog()));
}

TEST(MixFace, parts_of_other_sources_are_a_problem) {
  const auto made = Pipeline::from_json(
      R"({"forebay_pipeline": 1, "steps": [{"op": "text", "pattern": "x", "parts": [{"name": "a", "steps": [{"op": "text", "pattern": "a"}]}]},
          {"op": "take", "n": 1, "parts": [{"name": "a", "steps": [{"op": "text", "pattern": "a"}]}]}]})");
  ASSERT_TRUE(made.ok()) << made.status().message();
  const auto problems = made->check();
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems[0].message.find("only mix, concat and zip"), std::string::npos) << problems[0].message;
}

// The number of parts costs no more than in proportion: each branch is checked by itself.
TEST(MixFace, a_thousand_parts_are_checked_together) {
  std::vector<std::pair<std::string, Pipeline>> parts;
  for (int i = 0; i < 1000; ++i) parts.emplace_back(std::to_string(i), text("a").shuffle());
  EXPECT_TRUE(mix(parts).batch(2).check().empty());
  EXPECT_EQ(mix(parts).select({"txt"}).check().size(), 1u);
}

TEST(Sources, are_found_by_name_and_by_kind) {
  for (const SourceDef& def : sources()) EXPECT_EQ(find_source(def.name), &def);
  EXPECT_EQ(find_source("image"), nullptr);
  EXPECT_TRUE(is_source({"parquet", {}, nullptr, ""}, SourceKind::kTable));
  EXPECT_FALSE(is_source({"images", {}, nullptr, ""}, SourceKind::kTable));
  EXPECT_TRUE(is_source({"dataset", {}, nullptr, ""}, SourceKind::kUserCode));
  EXPECT_FALSE(is_source({"resize", {}, nullptr, ""}, SourceKind::kSamples));
  Schema unknown = announced_schema({"nothing of the kind", {}, nullptr, ""});
  EXPECT_TRUE(unknown.open_ended);
}

// ---- arguments of steps

Field of_shape(std::string name, DType dtype, Shape shape) {
  Field field;
  field.name = std::move(name);
  field.dtype = dtype;
  field.shape = shape;
  return field;
}

TEST(StepBytes, of_a_row_are_those_of_its_fields_of_known_shape) {
  const Schema schema({of_shape("a", DType::kFloat32, {3, 4}), of_shape("list", DType::kInt64, {Shape::kUnknown}),
                       of_shape("b", DType::kUint8, {})});
  EXPECT_EQ(fixed_bytes(schema), 49u);
  EXPECT_EQ(fixed_bytes(Schema()), 0u);
}

TEST(StepBytes, of_an_operator_are_its_new_columns_and_how_much_its_lists_grow) {
  const Schema before({of_shape("a", DType::kUint8, {}), of_shape("l", DType::kInt16, {Shape::kUnknown}),
                       of_shape("s", DType::kFloat64, {Shape::kUnknown})});
  Schema after = before;
  for (size_t i = 0; i < after.size(); ++i) after[i].dtype = DType::kFloat32;
  ChunkOp op;
  set_made_bytes(op, {{"a", "l", "s"}, {"a", "l", "s", "gone"}}, before, after);
  EXPECT_EQ(op.made_row_bytes, 4u);
  EXPECT_EQ(op.list_growth, 2u + 1) << "twice what int16 takes, and no less than what there was";
  EXPECT_GE(working_bytes({{"a"}, {"a"}}, before, after), 4096u);
}

// ---- orders

TEST(ChooseOrder, of_single_samples_is_shuffled_or_not_and_has_all_of_them) {
  class Ten final : public Selection {
   public:
    int64_t size() const override { return 10; }
    int64_t id_at(int64_t index) const override { return index; }
  };
  const Ten ten;
  const ChunkSource* const none = nullptr;
  const OpSpec shuffle{"shuffle", Json::object(), nullptr, ""};
  const Ordering plain = choose_order(nullptr, none, ten, 1).value();
  const Ordering mixed = choose_order(&shuffle, none, ten, 1).value();
  std::set<int64_t> ids;
  bool same = true;
  for (int64_t position = 0; position < 10; ++position) {
    EXPECT_EQ(plain.order->id_at(0, position), position);
    ids.insert(mixed.order->id_at(0, position));
    same = same && mixed.order->id_at(0, position) == mixed.order->id_at(1, position);
  }
  EXPECT_EQ(ids.size(), 10u);
  EXPECT_FALSE(same) << "another order in every epoch";
}

}  // namespace
}  // namespace forebay
