#include "format/object_source.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <thread>

#include <fmt/format.h>

#include "store/memory/memory_store.h"
#include "telemetry/log.h"

namespace forebay {
namespace {

KeyTable keyed(const std::vector<std::pair<std::string, uint64_t>>& keys) {
  KeyTableBuilder builder;
  for (const auto& [key, size] : keys) builder.add(key, size);
  return std::move(builder).in_order();
}

Column numbers_called(const std::string& name, const std::vector<int64_t>& values) {
  ColumnBuilder builder(name);
  for (const int64_t value : values) EXPECT_TRUE(builder.add(value, 1).ok());
  return std::move(builder).finish().value();
}

Column texts_called(const std::string& name, const std::vector<std::string>& values) {
  ColumnBuilder builder(name);
  for (const std::string& value : values) EXPECT_TRUE(builder.add(std::string_view(value), 1).ok());
  return std::move(builder).finish().value();
}

struct SourceOf {
  std::vector<std::pair<std::string, uint64_t>> keys = {{"a", 1}, {"b", 2}};
  std::vector<Column> columns = {};
  ObjectSizes sizes = ObjectSizes::kKnown;
  ObjectVersions versions = ObjectVersions::kFromTable;
  std::string folder = "d/";

  std::unique_ptr<const ObjectSource> open() {
    return std::make_unique<const ObjectSource>(
        memory_store(), [below = folder](std::string_view key) { return below + std::string(key); }, keyed(keys),
        std::move(columns), sizes, versions);
  }
};

Buffer bytes_of(size_t size) { return Buffer::allocate(size); }

void load_one(const ObjectSource& source, size_t bytes) {
  Record record;
  EXPECT_TRUE(source.as_samples()->load(0, bytes_of(bytes), record).ok());
}

TEST(ObjectSource, ColumnsStandBehindBytesAndKeyAndOnlyNumbersGather) {
  SourceOf of;
  of.columns.push_back(texts_called("class", {"cat", ""}));
  of.columns.push_back(numbers_called("n", {7, -8}));
  const auto source = of.open();
  ASSERT_EQ(source->schema().names(), "bytes, key, class, n");
  const bool gathers[] = {source->as_samples()->gathers(0), source->as_samples()->gathers(1),
                          source->as_samples()->gathers(2), source->as_samples()->gathers(3)};
  EXPECT_TRUE(!gathers[0] && !gathers[1] && !gathers[2] && gathers[3]);
  Record record;
  ASSERT_TRUE(source->as_samples()->load(1, {}, record).ok());
  ASSERT_EQ(record.size(), 4u);
  EXPECT_EQ(record[2].bytes.size(), 0u);
  EXPECT_EQ(*record[3].tensor.data<int64_t>(), -8);
  const int64_t ids[] = {1, 0, 1};
  int64_t got[3];
  ASSERT_TRUE(source->as_samples()->gather(3, ids, reinterpret_cast<uint8_t*>(got)).ok());
  EXPECT_EQ((std::vector<int64_t>(got, got + 3)), (std::vector<int64_t>{-8, 7, -8}));
  EXPECT_EQ(source->as_samples()->fetch(1).request.key, "d/b");
  EXPECT_EQ(source->key(1), "memory:d/b");
}

TEST(ObjectSource, TheVersionFollowsKeysSizesAndColumnsAndNotThePlace) {
  const auto version = [](SourceOf of, std::vector<int64_t> numbers = {}) {
    if (!numbers.empty()) of.columns.push_back(numbers_called("n", numbers));
    return of.open()->version();
  };
  const Hash128 base = version({}), with = version({}, {1, 2});
  EXPECT_EQ(base, version({.folder = "elsewhere/"}));
  EXPECT_EQ(with, version({}, {1, 2}));
  EXPECT_FALSE(base == version({.keys = {{"b", 2}, {"a", 1}}}));
  EXPECT_FALSE(base == version({.keys = {{"a", 1}, {"b", 3}}}));
  EXPECT_FALSE(base == with);
  EXPECT_FALSE(with == version({}, {2, 1}));
  SourceOf renamed;
  renamed.columns.push_back(numbers_called("m", {1, 2}));
  EXPECT_FALSE(with == renamed.open()->version());
}

TEST(ObjectSource, WhereSizesAreNotKnownTheyAreGuessedFromWhatWasRead) {
  const auto source = SourceOf{.sizes = ObjectSizes::kUnknown}.open();
  const auto guess = [&] { return source->as_samples()->fetch(1).size; };
  EXPECT_EQ(guess(), 256u << 10);
  EXPECT_FALSE(source->as_samples()->fetch(1).request.expected_size) << "a guess is no promise";
  load_one(*source, 1000);
  EXPECT_EQ(guess(), 64u << 10) << "small objects are not worth a second request";
  load_one(*source, 999'000);
  EXPECT_EQ(guess(), 2 * 999'000u) << "a new maximum is not read twice";
  for (int i = 0; i < 8; ++i) load_one(*source, 1);
  EXPECT_EQ(guess(), 8 * 100'000u) << "nor more than eight times the mean: one large object makes not all reads large";
  Record record;
  ASSERT_TRUE(source->as_samples()->load(0, {}, record).ok());
  EXPECT_EQ(guess(), 8 * 100'000u) << "what was not fetched says nothing";
  const auto known = SourceOf{}.open();
  load_one(*known, 1000);
  EXPECT_EQ(known->fetch(1).size, 2u);
  EXPECT_EQ(known->fetch(1).request.expected_size, 2u);
}

TEST(ObjectSource, ManyThreadsLearnTheSizesWithoutLosingAny) {
  const auto source = SourceOf{.sizes = ObjectSizes::kUnknown}.open();
  std::vector<std::jthread> threads;
  for (size_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&source, t] {
      for (size_t i = 0; i < 500; ++i) load_one(*source, t == 4 && i == 250 ? 50'000'000 : 10);
    });
  }
  threads.clear();
  EXPECT_EQ(source->as_samples()->fetch(0).size, 8 * ((1999 * 10 + uint64_t{50'000'000}) / 2000));
}

TEST(ObjectSource, AVersionThatWasLearnedIdentifiesTheSampleWithItsColumns) {
  const auto opened = [](int64_t label, const std::string& folder = "d/") {
    SourceOf of{.sizes = ObjectSizes::kUnknown, .versions = ObjectVersions::kLearned, .folder = folder};
    of.columns.push_back(numbers_called("label", {label, label}));
    return of.open();
  };
  EXPECT_EQ(SourceOf{}.open()->learned_versions(), nullptr);
  const auto source = opened(3), again = opened(3), other = opened(4), elsewhere = opened(3, "e/");
  const LearnedVersions& learned = *source->learned_versions();
  EXPECT_FALSE(source->identity(0)) << "nothing was heard yet";
  const auto question = learned.version_request(0);
  ASSERT_TRUE(question);
  EXPECT_TRUE(question->request.version_only);
  EXPECT_EQ(question->request.key, "d/a");
  learned.record_answer(0, 77);
  EXPECT_FALSE(learned.version_request(0)) << "it is not asked twice";
  ASSERT_TRUE(source->identity(0));
  EXPECT_TRUE(source->identity(0)->lasting);
  EXPECT_FALSE(source->identity(1)) << "of this object alone";

  EXPECT_EQ(again->learned_versions()->learn(0, 77), *source->identity(0)) << "the same in another run";
  EXPECT_EQ(again->identity(0), source->identity(0));
  EXPECT_NE(again->learned_versions()->learn(0, 78), *source->identity(0)) << "the object changed";
  EXPECT_NE(other->learned_versions()->learn(0, 77), *source->identity(0)) << "its label changed";
  EXPECT_NE(elsewhere->learned_versions()->learn(0, 77), *source->identity(0)) << "another object";
  EXPECT_EQ(learned.name(0), again->learned_versions()->name(0)) << "whatever the version";
  EXPECT_NE(learned.name(0), learned.name(1));
  EXPECT_NE(learned.name(0), other->learned_versions()->name(0));
}

TEST(ObjectSource, WhereTheStoreTellsNoVersionTheIdentityHoldsInThisJobAlone) {
  std::vector<std::string> warnings;
  set_log_sink([&](const std::string& line) { warnings.push_back(line); });
  const auto one = SourceOf{.versions = ObjectVersions::kLearned}.open();
  const auto other = SourceOf{.versions = ObjectVersions::kLearned}.open();
  one->learned_versions()->record_answer(0, 0);
  EXPECT_FALSE(one->identity(0)) << "asked in vain: it has to be read";
  EXPECT_FALSE(one->learned_versions()->version_request(0));
  const Identity here = one->learned_versions()->learn(0, 0);
  EXPECT_FALSE(here.lasting);
  EXPECT_EQ(one->identity(0), here);
  EXPECT_EQ(one->learned_versions()->learn(0, 0), here) << "read once more";
  EXPECT_NE(other->learned_versions()->learn(0, 0), here) << "another source has read the object itself";
  EXPECT_FALSE(one->learned_versions()->learn(1, 0).lasting);
  set_log_sink([](const std::string& line) { std::fprintf(stderr, "forebay: %s\n", line.c_str()); });
  ASSERT_EQ(warnings.size(), 2u) << "each source says it once";

  const auto third = SourceOf{.versions = ObjectVersions::kLearned}.open();
  third->learned_versions()->learn_from_peer(0, *one->learned_versions()->learned_version(0));
  EXPECT_EQ(third->identity(0), here) << "another host has told what it learned";
  EXPECT_NE(warnings[0].find("'memory:d/a'"), std::string::npos) << warnings[0];
  EXPECT_EQ(one->index_bytes(), SourceOf{}.open()->index_bytes() + 16) << "eight bytes a sample";
}

}  // namespace
}  // namespace forebay
