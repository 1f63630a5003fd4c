#include "format/materialized/manifest.h"

#include <random>

#include <gtest/gtest.h>

namespace forebay {
namespace {

StoredField field_named(std::string name, FieldKind kind, DType dtype = DType::kUint8, Shape shape = {}) {
  StoredField stored;
  stored.field.name = std::move(name), stored.field.kind = kind, stored.field.dtype = dtype, stored.field.shape = shape;
  return stored;
}

MaterializedManifest everything() {
  MaterializedManifest manifest;
  manifest.layout = MaterializedManifest::Layout::kSamples;
  manifest.size = 30;
  manifest.steps = R"([{"op":"images","args":{"root":"/p"}},{"op":"decode_image","args":{}}])";
  manifest.order_at = 1;
  manifest.version = {1, 2};
  manifest.place = {3, 4};
  manifest.fields.push_back(field_named("image", FieldKind::kTensor, DType::kUint8, {Shape::kUnknown, 7, 3}));
  manifest.fields.back().field.image = manifest.fields.back().encoded = true;
  manifest.fields.push_back(field_named("key \"é\" \n", FieldKind::kText));
  manifest.fields.back().in_index = true;
  manifest.fields.push_back(field_named("list", FieldKind::kTensor, DType::kFloat16, {Shape::kUnknown}));
  manifest.fields.back().field.pad_value = -1.5, manifest.fields.back().field.pad_length = 9;
  manifest.fields.push_back(field_named("raw", FieldKind::kBytes));
  manifest.fields.push_back(field_named("names", FieldKind::kTextList));
  manifest.shards = {{10, 1000, 20, {5, 6}, {7, 8}}, {20, 2000, 0, {9, 10}, {}}};
  return manifest;
}

TEST(MaterializedManifest, WhatIsWrittenIsReadAsItWas) {
  for (const StoredFormat format :
       {StoredFormat::kArrow, StoredFormat::kParquet, StoredFormat::kWds, StoredFormat::kJpeg}) {
    MaterializedManifest manifest = everything();
    manifest.format = format;
    if (manifest.lossy()) manifest.quality = 80, manifest.limit = 256;
    const Result<MaterializedManifest> read = MaterializedManifest::from_json(manifest.to_json());
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(read->to_json(), manifest.to_json());
    EXPECT_EQ(read->format, format);
    EXPECT_EQ(read->steps_before(), manifest.steps_before());
    EXPECT_EQ(read->shards, manifest.shards);
    EXPECT_EQ(read->fields[0].encoded, true);
    EXPECT_EQ(read->fields[2].field.pad_value, -1.5);
  }
}

TEST(MaterializedManifest, OnlyWhatLosesSomethingIsAnotherDataSet) {
  MaterializedManifest manifest = everything();
  const std::string steps = manifest.steps_before();
  for (const StoredFormat format : {StoredFormat::kParquet, StoredFormat::kWds}) {
    manifest.format = format;
    EXPECT_EQ(manifest.data_version(), manifest.version);
    EXPECT_EQ(manifest.steps_before(), steps);
  }
  manifest.format = StoredFormat::kJpeg;
  manifest.quality = 80;
  EXPECT_FALSE(manifest.data_version() == manifest.version);
  EXPECT_NE(manifest.steps_before(), steps);
  const Hash128 at_80 = manifest.data_version();
  manifest.quality = 81;
  EXPECT_FALSE(manifest.data_version() == at_80);
}

TEST(MaterializedManifest, WhatContradictsItselfIsCorrupt) {
  const auto without = [](const std::string& from, const std::string& to) {
    std::string text = everything().to_json();
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[1]"), std::string("null"),
        std::string(100'000, '[') + std::string(100'000, ']'), without("\"samples\": 30", "\"samples\": 31"),
        without("\"rows\": 10", "\"rows\": -10"), without("\"uint8\"", "\"uint9\""),
        without("\"layout\": \"samples\"", "\"layout\": \"heap\""), without("\"kind\": \"text\"", "\"kind\": \"any\""),
        without("-1", "-2"), without("\"xxh3\": \"", "\"xxh3\": \"z"),
        without("\"rows\": 10", "\"rows\": 9000000000000000000"),
        without("\"encoded\": true", "\"encoded\": true, \"in_index\": true"),
        without("\"order_at\"", "\"ordes_at\"")}) {
    EXPECT_EQ(MaterializedManifest::from_json(text).status().code(), Code::kCorrupt) << text.substr(0, 80);
  }
  EXPECT_EQ(MaterializedManifest::from_json(without("\"forebay_materialized\": 1", "\"forebay_materialized\": 2"))
                .status()
                .code(),
            Code::kUnsupported);
}

TEST(MaterializedManifest, AnyBytesGiveAManifestOrAStatus) {
  const std::string whole = everything().to_json();
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    if (i % 3 == 0) text.resize(random() % text.size());
    for (int flips = 0; flips < 1 + i % 4 && !text.empty(); ++flips)
      text[random() % text.size()] ^= static_cast<char>(1 << random() % 8);
    const Result<MaterializedManifest> read = MaterializedManifest::from_json(text);
    if (read.ok()) {
      EXPECT_EQ(MaterializedManifest::from_json(read->to_json())->to_json(), read->to_json());
    } else {
      EXPECT_TRUE(read.status().code() == Code::kCorrupt || read.status().code() == Code::kUnsupported);
    }
  }
}

TEST(MaterializedManifest, FilesAreNamedByNumberAndFormat) {
  EXPECT_EQ(shard_file(17), "part-00017.arrow");
  EXPECT_EQ(shard_file(123456, StoredFormat::kParquet), "part-123456.parquet");
  EXPECT_EQ(shard_file(0, StoredFormat::kWds), "part-00000.tar");
  EXPECT_EQ(shard_file(0, StoredFormat::kJpeg), "part-00000.tar");
  EXPECT_EQ(index_file(3), "_index/part-00003.arrow");
  for (const StoredFormat format :
       {StoredFormat::kArrow, StoredFormat::kParquet, StoredFormat::kWds, StoredFormat::kJpeg})
    EXPECT_EQ(stored_format(name_of(format)), format);
  EXPECT_FALSE(stored_format("csv") || stored_format(""));
}

TEST(MaterializedManifest, AShardsEntryStandsByItself) {
  for (const StoredShard& shard : everything().shards) EXPECT_EQ(*shard_from_json(to_json(shard)), shard);
  for (const char* text : {"", "{}", "[]", R"({"rows":1,"bytes":2,"xxh3":"short"})", R"({"rows":1.5})"})
    EXPECT_EQ(shard_from_json(text).status().code(), Code::kCorrupt) << text;
}

}  // namespace
}  // namespace forebay
