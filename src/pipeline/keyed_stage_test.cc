#include "pipeline/keyed_stage.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "pipeline/chunk_plan.h"
#include "pipeline/chunk_work.h"
#include "pipeline/content_keys.h"
#include "pipeline/run/runner_test_support.h"

namespace forebay {
namespace {

/// Stores every entry that it is given.
class MapCache final : public EntryCache {
 public:
  std::optional<Found> find(const EntryRef& entry) override {
    const auto found = kept.find(entry.key.to_string());
    if (found == kept.end()) return std::nullopt;
    return Found{found->second, nullptr, {}};
  }
  bool has(const Hash128& entry) const override { return kept.contains(entry.to_string()); }
  Result<std::shared_ptr<const Columns>> open(const Hash128&, Buffer) override { return corrupt("never"); }
  bool try_admit(const Hash128&, uint64_t bytes) const override { return bytes <= most; }
  void put(const EntryRef& entry, std::shared_ptr<const Columns> columns, double, KeepIn where) override {
    kept[entry.key.to_string()] = std::move(columns);
    last = where;
  }

  std::map<std::string, std::shared_ptr<const Columns>> kept;
  uint64_t most = UINT64_MAX;
  KeepIn last = KeepIn::kAnyTier;
};

Field number_field(std::string name) {
  Field field;
  field.name = std::move(name);
  field.dtype = DType::kInt64;
  return field;
}

Value number(int64_t value) {
  Tensor tensor = Tensor::allocate(DType::kInt64, {});
  *tensor.data<int64_t>() = value;
  return Value::of(std::move(tensor));
}

int64_t number_in(const Value& value) { return *value.tensor.data<int64_t>(); }

/// A source whose sample `id` has the label 100 + id.
class Labelled final : public SampleSource {
 public:
  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return 10; }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t) const override { return ""; }
  std::optional<Identity> identity(int64_t id) const override {
    if (id == 9) return std::nullopt;
    return Identity(hash128(std::to_string(id)), id != 8);
  }
  Fetch fetch(int64_t) const override { return {}; }
  Status load(int64_t id, Buffer, Record& record) const override {
    record.clear();
    record.push_back(Value());  // an object that was not read
    record.push_back(number(100 + id));
    return {};
  }

 private:
  const Schema schema_{{number_field("image"), number_field("label")}};
};

Identity entry_of(const Source& source, int64_t id) { return *source.identity(id); }

KeyedStage stage_over(std::shared_ptr<EntryCache> cache) {
  KeyedStage stage;
  stage.cache = std::move(cache);
  stage.schema = Schema({number_field("image"), number_field("label"), number_field("unwanted")});
  stage.from_before = {std::nullopt, 1, std::nullopt};
  stage.in_entry = {true, false, false};
  return stage;
}

TEST(EntryKey, is_of_the_place_and_of_what_is_stored_in_that_order) {
  const Hash128 a = hash128("a"), b = hash128("b");
  EXPECT_EQ(entry_key(a, b), entry_key(a, b));
  std::set<std::string> all;
  for (const Hash128& key : {entry_key(a, b), entry_key(b, a), entry_key(a, a), entry_key(b, b)})
    all.insert(key.to_string());
  EXPECT_EQ(all.size(), 4u);
}

TEST(KeyedStage, a_sample_comes_back_with_what_was_made_of_it_and_what_the_source_says_now) {
  const auto cache = std::make_shared<MapCache>();
  const KeyedStage stage = stage_over(cache);
  const Labelled source;
  Record made;
  made.push_back(number(7));
  made.push_back(number(-1));  // a label that has changed meanwhile
  made.push_back(number(5));
  Extras extras;
  extras.emplace_back("found", number(3));
  stage.store(entry_of(source, 4), made, extras, 0.1, 4);
  ASSERT_EQ(cache->kept.size(), 1u);
  EXPECT_EQ(stage.counters->samples, 1);

  Record record;
  Extras back;
  EXPECT_TRUE(stage.needs_before());
  ASSERT_TRUE(source.load(4, Buffer(), record).ok());
  ASSERT_TRUE(stage.restore(*cache->kept.begin()->second, record, back).ok());
  ASSERT_EQ(record.size(), 3u);
  EXPECT_EQ(number_in(record[0]), 7);
  EXPECT_EQ(number_in(record[1]), 104);
  EXPECT_EQ(record[2].kind, FieldKind::kAny) << "wanted by nobody";
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].first, "found");
  EXPECT_EQ(number_in(back[0].second), 3);
}

TEST(KeyedStage, asks_the_source_for_nothing_where_all_is_in_the_entry) {
  KeyedStage stage = stage_over(std::make_shared<MapCache>());
  stage.from_before = {std::nullopt, std::nullopt, std::nullopt};
  stage.in_entry = {true, true, true};
  auto* const cache = static_cast<MapCache*>(stage.cache.get());
  const Labelled source;
  Record made;
  for (const int64_t value : {1, 2, 3}) made.push_back(number(value));
  stage.store(entry_of(source, 0), made, {}, 0, 0);
  Record record;
  Extras back;
  EXPECT_FALSE(stage.needs_before());
  ASSERT_TRUE(stage.restore(*cache->kept.begin()->second, record, back).ok());
  EXPECT_EQ(number_in(record[2]), 3);
}

TEST(KeyedStage, an_entry_of_a_part_has_the_fields_of_the_part_by_their_own_names) {
  const auto cache = std::make_shared<MapCache>();
  KeyedStage stage;
  stage.cache = cache;
  stage.part = "b";
  stage.schema = Schema({number_field("a/image"), number_field("b/image"), number_field("b/label")});
  // Before the part, the record has b/label, a/image and b/bytes.
  stage.from_before = {1, std::nullopt, 0};
  stage.in_entry = {false, true, false};
  Record made;
  for (const int64_t value : {1, 2, 3}) made.push_back(number(value));
  Extras extras;
  extras.emplace_back("b/found", number(4));
  stage.store(Identity(hash128("b"), true), made, extras, 0, 0);
  const Columns& entry = *cache->kept.begin()->second;
  EXPECT_EQ(entry.schema.names(), "image, found");

  Record record;
  for (const int64_t value : {30, 10, 50}) record.push_back(number(value));
  ASSERT_TRUE(stage.restore(entry, record, extras).ok());
  ASSERT_EQ(record.size(), 3u);
  EXPECT_EQ(number_in(record[0]), 10) << "the other part goes on";
  EXPECT_EQ(number_in(record[1]), 2);
  EXPECT_EQ(number_in(record[2]), 30);
  ASSERT_EQ(extras.size(), 1u);
  EXPECT_EQ(extras[0].first, "b/found");
}

TEST(KeyedStage, an_entry_with_fewer_fields_than_its_place_is_corrupt) {
  KeyedStage stage = stage_over(std::make_shared<MapCache>());
  stage.in_entry = {true, false, true};
  const Labelled source;
  Columns entry;
  entry.schema = Schema({number_field("image")});
  entry.rows = 1;
  entry.values = {{Buffer::allocate(8), {}}};
  Record record;
  Extras extras;
  ASSERT_TRUE(source.load(0, Buffer(), record).ok());
  EXPECT_EQ(stage.restore(entry, record, extras).code(), Code::kCorrupt);
}

TEST(KeyedStage, keeps_in_memory_alone_what_only_this_process_knows_to_be_right) {
  const auto cache = std::make_shared<MapCache>();
  const KeyedStage stage = stage_over(cache);
  const Labelled source;
  Record made;
  for (const int64_t value : {1, 2, 3}) made.push_back(number(value));
  stage.store(entry_of(source, 1), made, {}, 0, 1);
  EXPECT_EQ(cache->last, KeepIn::kAnyTier);
  stage.store(entry_of(source, 8), made, {}, 0, 8);
  EXPECT_EQ(cache->last, KeepIn::kMemory);
}

TEST(KeyedStage, keeps_nothing_that_has_no_room_or_no_form) {
  const auto cache = std::make_shared<MapCache>();
  const KeyedStage stage = stage_over(cache);
  const Labelled source;
  Record made;
  for (const int64_t value : {1, 2, 3}) made.push_back(number(value));
  cache->most = 7;
  stage.store(entry_of(source, 1), made, {}, 0, 1);
  cache->most = UINT64_MAX;
  made[0] = Value();  // user code left the field out
  stage.store(entry_of(source, 1), made, {}, 0, 1);
  EXPECT_TRUE(cache->kept.empty());
  EXPECT_EQ(stage.counters->samples, 0);
}

TEST(ContentKeys, are_of_place_and_identity_and_known_where_that_is) {
  runner_test::Rig rig;
  rig.shuffled = false;
  rig.sizes.assign(10, 100);
  rig.batch = 10;
  const auto plan = rig.plan();
  const auto steps = rig.itinerary();
  const BatchJob batch(plan, *steps->step(Cursor()));
  const auto source = std::make_shared<Labelled>();
  const ContentKeys keys(std::make_shared<MapCache>(), source, hash128("here"), /*fetches=*/true);
  EXPECT_FALSE(keys.lookup_key(batch, 9)) << "it has no version";
  EXPECT_TRUE(keys.lookup_key(batch, 1)->lasting);
  EXPECT_FALSE(keys.lookup_key(batch, 8)->lasting);
  EXPECT_NE(keys.lookup_key(batch, 1)->hash, keys.lookup_key(batch, 2)->hash);
  EXPECT_EQ(keys.lookup_key(batch, 1), keys.store_key(batch, 1, std::nullopt));
  EXPECT_EQ(keys.flight_key(batch, 1), keys.lookup_key(batch, 1)->hash);
  EXPECT_TRUE(keys.peers_know(*keys.lookup_key(batch, 1)));
  EXPECT_FALSE(keys.peers_know(*keys.lookup_key(batch, 8)));
  const ContentKeys elsewhere(std::make_shared<MapCache>(), source, hash128("there"), true);
  EXPECT_NE(keys.lookup_key(batch, 1)->hash, elsewhere.lookup_key(batch, 1)->hash);
}

// ---- chunks

/// Chunks of two rows, which hold their ids. Counts the chunks that are decoded.
class Numbered final : public ChunkSource {
 public:
  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return 6; }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t) const override { return ""; }
  int64_t chunks() const override { return 3; }
  int64_t chunk_begin(int64_t chunk) const override { return chunk * 2; }
  std::string chunk_name(int64_t chunk) const override { return "chunk " + std::to_string(chunk); }
  ChunkCost chunk_cost(int64_t) const override { return {16, 16}; }
  ChunkFetch chunk_fetch(int64_t) const override { return {}; }
  Result<Columns> decode(int64_t chunk, std::vector<Buffer>, WorkMemory&) const override {
    ++decoded;
    Columns columns;
    columns.schema = schema_;
    columns.rows = 2;
    columns.values = {{Buffer::allocate(16), {}}};
    for (int64_t row = 0; row < 2; ++row)
      reinterpret_cast<int64_t*>(columns.values[0].values.data())[row] = chunk * 2 + row;
    return columns;
  }
  std::optional<Hash128> chunk_identity(int64_t chunk) const override {
    return chunk == 2 ? std::nullopt : std::optional(hash128(std::to_string(chunk)));
  }
  Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string>) const override {
    return internal_error("never");
  }
  mutable int decoded = 0;

 private:
  const Schema schema_{{number_field("x")}};
};

class Times final : public ColumnOp {
 public:
  Times(int64_t factor, std::vector<int64_t>* ran) : factor_(factor), ran_(ran) {}
  Status apply(Columns& columns, WorkMemory&) const override {
    ran_->push_back(factor_);
    if (factor_ == 0) return unsupported("by zero");
    Buffer made = Buffer::allocate(columns.values[0].values.size());
    for (int64_t row = 0; row < columns.rows; ++row)
      reinterpret_cast<int64_t*>(made.data())[row] =
          factor_ * reinterpret_cast<const int64_t*>(columns.values[0].values.data())[row];
    columns.values[0].values = std::move(made);
    return {};
  }

 private:
  const int64_t factor_;
  std::vector<int64_t>* const ran_;
};

struct Planned {
  std::vector<int64_t> ran;
  std::shared_ptr<Numbered> source = std::make_shared<Numbered>();
  std::shared_ptr<MapCache> cache = std::make_shared<MapCache>();
  ChunkPlan plan;

  Planned(const std::vector<int64_t>& factors, size_t cached_after) {
    plan.source = source;
    for (const int64_t factor : factors) {
      ChunkOp op;
      op.name = "times" + std::to_string(factor);
      op.op = std::make_unique<Times>(factor, &ran);
      op.counters = std::make_shared<StepCounters>();
      plan.ops.push_back(std::move(op));
    }
    plan.cache = cache;
    plan.cached_after = cached_after;
    plan.cache_identity = hash128("place");
    plan.packed = PackedRows(source->schema());
  }
};

std::vector<int64_t> numbers_in(const Columns& columns) {
  const auto* numbers = reinterpret_cast<const int64_t*>(columns.values[0].values.data());
  return {numbers, numbers + columns.rows};
}

TEST(ChunkPlan, what_was_kept_goes_on_from_where_it_was_kept) {
  for (size_t cached_after = 0; cached_after <= 2; ++cached_after) {
    Planned at({2, 5}, cached_after);
    WorkMemory memory;
    const auto made = at.plan.make(1, {}, {}, memory);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    EXPECT_EQ(numbers_in(**made), (std::vector<int64_t>{20, 30}));
    EXPECT_EQ(at.ran, (std::vector<int64_t>{2, 5}));
    EXPECT_EQ(at.plan.caches_packed(), cached_after == 2);
    ASSERT_EQ(at.cache->kept.size(), 1u);
    at.ran.clear();
    const auto again = at.plan.finish(at.cache->find(*at.plan.cache_key(1))->columns, {}, memory);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(numbers_in(**again), (std::vector<int64_t>{20, 30}));
    EXPECT_EQ(at.ran.size(), 2 - cached_after) << "only the steps behind the cache";
    EXPECT_EQ(at.source->decoded, 1);
  }
}

TEST(ChunkPlan, an_error_names_the_step_and_nothing_of_later_steps_is_done) {
  Planned at({2, 0, 5}, 3);
  WorkMemory memory;
  const auto made = at.plan.make(0, {}, {}, memory);
  EXPECT_EQ(made.status().code(), Code::kUnsupported);
  EXPECT_EQ(made.status().op(), "times0");
  EXPECT_EQ(at.ran, (std::vector<int64_t>{2, 0}));
  EXPECT_TRUE(at.cache->kept.empty());
  EXPECT_EQ(at.plan.ops[0].counters->samples, 2);
  EXPECT_EQ(at.plan.ops[1].counters->samples, 0);
}

TEST(ChunkPlan, what_has_no_version_or_no_room_is_made_and_not_kept) {
  Planned at({3}, 0);
  WorkMemory memory;
  EXPECT_FALSE(at.plan.cache_key(2));
  ASSERT_TRUE(at.plan.make(2, {}, {}, memory).ok());
  at.cache->most = 15;
  ASSERT_TRUE(at.plan.make(1, {}, {}, memory).ok());
  EXPECT_TRUE(at.cache->kept.empty());
  at.plan.cache = nullptr;
  EXPECT_FALSE(at.plan.cache_key(1));
}

TEST(ChunkPlan, rows_of_memory_are_shared_with_nobody_by_their_content) {
  Planned at({}, 0);
  at.plan.rows_identity = hash128("rows");
  EXPECT_FALSE(at.plan.sharing_key(0)) << "no store: to find out what it is costs as much as decoding it";
}

TEST(HeldBytes, count_shared_memory_once_and_what_lies_apart_in_full) {
  const Buffer memory = Buffer::allocate(1000);
  Columns columns;
  columns.values = {
      {memory.slice(0, 100), {}}, {memory.slice(100, 50), Buffer::allocate(24)}, {Buffer::allocate(8), {}}};
  EXPECT_EQ(retained_bytes(columns, memory), 1000u + 24 + 8);
  EXPECT_EQ(retained_bytes(columns, Buffer()), 100u + 50 + 24 + 8);
  EXPECT_EQ(retained_bytes(Columns(), memory), 0u) << "nothing lies there, so it may go";
}

}  // namespace
}  // namespace forebay
