// Checks the descriptions that the C++ API makes: they have every argument of the catalog, by name
// and in order.
#include <gtest/gtest.h>

#include "forebay/pipeline.h"
#include "loader/describe/check.h"
#include "pipeline/catalog.h"

namespace forebay {
namespace {

/// Every operator once, with all of its arguments.
Pipeline all_operators() {
  const Fields two = {"a", "b"};
  return images("photos")
      .shuffle({.block = 2, .lanes = 2, .ramp = true, .window = 9})
      .buffer({.dir = "x", .on_underrun = "wait"})
      .only({{"label", {1, 2}}})
      .take(5, {.spread = true})
      .keep_keys(0, 0.9, {.salt = "1"})
      .keep_groups("label", 0.5, 1, {.salt = "1"})
      .sample({.n = 9, .weights = std::vector<double>{1, 2}, .replacement = false})
      .balance({.by = "a", .samples = 5})
      .decode_image({.field = two, .lists = true})
      .resize({7}, {.short_side = 9, .field = two})
      .center_crop({5, 6}, {.field = two})
      .random_crop({5, 6}, {.field = two})
      .random_resized_crop({5, 6}, {.interpolation = std::map<std::string, std::string>{{"b", "nearest"}}})
      .random_flip()
      .color_jitter({.brightness = {0.1}, .contrast = {0.1}, .saturation = {0.1}, .hue = {0.1}})
      .normalize(imagenet())
      .patchify(14, {.merge = 2})
      .decode_audio({.rate = 16000, .channels = 2, .field = two, .lists = true})
      .mel_spectrogram(
          {.rate = 8000, .win_length = 300, .hop_length = 100, .f_max = 4000, .norm = "slaney", .log = "db"})
      .mfcc(13, {.rate = 8000, .win_length = 300, .hop_length = 100, .f_max = 4000, .norm = "slaney"})
      .pad_or_crop(1.5, {.rate = 8000})
      .random_gain()
      .add_noise()
      .spec_augment()
      .layout("hwc")
      .cast("uint8", {.errors = "saturate"})
      .map([](Sample&) { return Status(); }, {.fields = two, .adds = {"c"}, .version = "1"})
      .filter([](const Sample&) -> Result<bool> { return true; }, {.fields = two})
      .select(two)
      .rename({{"a", "d"}})
      .hash_bucket(9, {.field = two, .salt = 1})
      .clip({.min = 1, .max = 2, .field = two})
      .log1p(two)
      .fill_null(int64_t{0}, two)
      .stack(two, "e")
      .window(4, {.field = two, .stride = 2})
      .aggregate({"rms", "mean"}, {.field = two, .every = 2, .axis = 1, .times = "e"})
      .extract_text({.field = two})
      .tokenize("tokenizer.json", {.field = "t", .into = "u", .special = false, .max_length = 9, .hash = "0"})
      .embed("table.npy", {.field = "u", .into = "v", .hash = "0"})
      .pack(8, {.field = "u",
                .how = "cut",
                .too_long = "drop",
                .eos = 2,
                .shift = std::map<std::string, int64_t>{{"u", 1}},
                .pad_value = -1,
                .limits = std::map<std::string, int64_t>{{"p", 9}},
                .max_segments = 9,
                .cu_seqlens = true,
                .open_blocks = 4,
                .window = 5,
                .arrange = "epoch"})
      .pad("a", 1.5, {.length = 4})
      .repeat(2.5)
      .cache({.dir = "x", .compression = "lz4"})
      .rehearse(2, 100, {.candidates = 3, .where = "here", .ram = "1MiB"})
      .batch(4, {.ragged = two})
      .bucket({.by = "a",
               .tokens = 900,
               .cost = {1, 0.5},
               .padded = false,
               .samples = 9,
               .boundaries = {5, 6},
               .sizes = {3, 2, 1},
               .window = 7,
               .group = 8,
               .ragged = two});
}

TEST(CppFace, writes_each_argument_of_each_operator_in_the_catalogs_order) {
  std::vector<std::string> missing;
  for (const auto& [name, def] : catalog().ops()) {
    if (!def.made_by_sources && def.faces == ArgFaces::kAll) missing.push_back(name);
  }
  const Pipeline pipeline = all_operators();
  for (size_t i = 1; i < pipeline.description().steps().size(); ++i) {
    const OpSpec& step = pipeline.description().steps()[i];
    std::vector<std::string> said, wanted;
    for (const auto& [name, value] : step.args.items()) said.push_back(name);
    const OpDef* const def = catalog().find(step.name);
    ASSERT_NE(def, nullptr) << step.name;
    for (const ArgDef& arg : def->args) {
      if (arg.faces != ArgFaces::kPython) wanted.push_back(arg.name);
    }
    EXPECT_EQ(said, wanted) << step.name;
    std::erase(missing, step.name);
  }
  EXPECT_TRUE(missing.empty()) << missing.front();
}

TEST(CppFace, weights_are_a_field_or_numbers) {
  const auto weights = [](const Weights& given) {
    return images("photos").sample({.weights = given}).description().steps().back().args;
  };
  EXPECT_EQ(weights("w"), Json({{"weights", "w"}}));
  EXPECT_EQ(weights(std::vector<double>{0.5, 2}), Json({{"weights", {0.5, 2.0}}}));
  EXPECT_EQ(weights({}), Json::object());
}

TEST(CppFace, tar_shards_are_described_as_json_has_them) {
  const Pipeline given = webdataset("a-{00..99}.tar", {.fields = {{"image", "jpg;png"}, {"label", "cls"}},
                                                       .optional = {"label"},
                                                       .chunk = uint64_t{1} << 20,
                                                       .split = "last"});
  EXPECT_EQ(given.to_json().value(), Pipeline::from_json(given.to_json().value()).value().to_json().value());
  EXPECT_TRUE(given.decode_image().check().empty());
  EXPECT_EQ(given.description().steps().front().args, Json({{"pattern", "a-{00..99}.tar"},
                                                            {"fields", {{"image", "jpg;png"}, {"label", "cls"}}},
                                                            {"optional", {"label"}},
                                                            {"chunk", 1 << 20},
                                                            {"split", "last"}}));
  EXPECT_EQ(webdataset(std::vector<std::string>{"a.tar"}).description().steps().front().args,
            Json({{"pattern", {"a.tar"}}}));
}

TEST(CppFace, lines_records_and_hdf5_are_described_as_json_has_them) {
  const std::vector<std::pair<Pipeline, Json>> cases = {
      {text("a/*.txt", {.by = "file"}), {{"pattern", "a/*.txt"}, {"by", "file"}}},
      {jsonl("a.jsonl", {.fields = {{"n", "int64"}}, .null = null_value(int64_t{0})}),
       {{"pattern", "a.jsonl"}, {"fields", {{"n", "int64"}}}, {"null", {{"value", 0}}}}},
      {hdf5(std::vector<std::string>{"a.h5"}, {.fields = {{"x", "/g/x"}}, .window = 8, .stride = 4}),
       {{"pattern", {"a.h5"}}, {"fields", {{"x", "/g/x"}}}, {"window", 8}, {"stride", 4}}},
      {megatron("a/tokens", "sequence"), {{"prefix", "a/tokens"}, {"by", "sequence"}}}};
  for (const auto& [given, args] : cases) {
    EXPECT_EQ(given.description().steps().front().args, args);
    EXPECT_EQ(given.to_json().value(), Pipeline::from_json(given.to_json().value()).value().to_json().value());
  }
}

TEST(CppFace, streams_are_described_as_json_has_them) {
  const Pipeline log =
      stream("redis://h/0/s", {.fields = {{"x", "int64"}}, .format = "json", .start = "now", .on_trimmed = "skip"});
  EXPECT_EQ(log.description().steps().front().args, Json({{"url", "redis://h/0/s"},
                                                          {"fields", {{"x", "int64"}}},
                                                          {"format", "json"},
                                                          {"start", "now"},
                                                          {"on_trimmed", "skip"}}));
  EXPECT_EQ(stream("kafka://h/t", {.partition = {0, 3}}).description().steps().front().args,
            Json({{"url", "kafka://h/t"}, {"partition", {0, 3}}}));
  EXPECT_EQ(stream("nats://h/s").description().steps().front().args, Json({{"url", "nats://h/s"}}));
  for (const Pipeline& followed : {files("a/*", {.follow = true}), text("a", {.follow = true}),
                                   jsonl("a", {.fields = {{"x", "int64"}}, .follow = true}),
                                   parquet("a/*", {.follow = true}), arrow("a", {.follow = true})}) {
    EXPECT_EQ(followed.description().steps().front().args["follow"], Json(true));
    EXPECT_EQ(followed.to_json().value(), Pipeline::from_json(followed.to_json().value()).value().to_json().value());
  }
}

TEST(CppFace, what_of_tables_cannot_be_followed_is_found_before_anything_is_read) {
  EXPECT_TRUE(parquet("a/*", {.filter = {{{"x", ">", int64_t{1}}}}, .follow = true}).check().empty());
  EXPECT_EQ(parquet(std::vector<std::string>{"a", "b"}, {.follow = true}).check().size(), 1u);
  EXPECT_EQ(parquet("a/*", {.follow = true}).take(3).check().size(), 1u);
  EXPECT_EQ(parquet("a/*", {.follow = true}).shuffle().check().size(), 1u);
  EXPECT_TRUE(parquet("a/*", {.follow = true}).shuffle({.window = 100}).check().empty());
}

TEST(CppFace, mistakes_about_tar_shards_are_found_before_anything_is_read) {
  EXPECT_EQ(webdataset("").check().size(), 1u);
  EXPECT_EQ(webdataset("a.tar", {.fields = {{"x", "pyd"}}}).check().size(), 1u);
  EXPECT_EQ(webdataset("a.tar", {.fields = {{"x", "jpg;cls"}}}).check().size(), 1u);
  EXPECT_EQ(webdataset("a.tar", {.chunk = "no size"}).check().size(), 1u);
  EXPECT_EQ(webdataset("a.tar", {.split = "middle"}).check().size(), 1u);
  EXPECT_EQ(webdataset("a.tar", {.fields = {{"x", "seg.png"}}, .split = "last"}).check().size(), 1u);
  EXPECT_TRUE(webdataset("a.tar").check().empty());
}

}  // namespace
}  // namespace forebay
