#include "pipeline/memory_model.h"

#include <gtest/gtest.h>

#include <random>

#include "base/byte_size.h"
#include "pipeline/chunk_memory.h"

namespace forebay {
namespace {

using Random = std::mt19937_64;

uint64_t up_to(Random& random, uint64_t most) { return random() % (most + 1); }

class All final : public Selection {
 public:
  explicit All(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  int64_t id_at(int64_t index) const override { return index; }

 private:
  const int64_t size_;
};

Field field_of(std::string name, FieldKind kind, Shape shape = {}, DType dtype = DType::kUint8) {
  Field field;
  field.name = std::move(name);
  field.kind = kind;
  field.shape = std::move(shape);
  field.dtype = dtype;
  return field;
}

/// Samples of which only the sizes exist: stored bytes, and a caption that the index has.
class SizedSamples final : public SampleSource {
 public:
  explicit SizedSamples(std::vector<uint64_t> sizes) : sizes_(std::move(sizes)) {
    Field bytes = field_of("bytes", FieldKind::kBytes);
    bytes.fetched = true;
    schema_ = Schema({bytes, field_of("caption", FieldKind::kText)});
  }
  static uint64_t caption_bytes(int64_t id) { return static_cast<uint64_t>(id * id % 100); }

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return static_cast<int64_t>(sizes_.size()); }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 1000; }
  std::string key(int64_t) const override { return ""; }
  Fetch fetch(int64_t id) const override { return {nullptr, {}, sizes_[static_cast<size_t>(id)]}; }
  Status load(int64_t id, Buffer fetched, Record& record) const override {
    record.clear();
    record.push_back(Value::of_bytes(std::move(fetched)));
    record.push_back(Value::of_text(Buffer::allocate(caption_bytes(id))));
    return {};
  }

 private:
  const std::vector<uint64_t> sizes_;
  Schema schema_;
};

/// Chunks of which only the sizes exist.
class SizedChunks final : public ChunkSource {
 public:
  struct Size {
    int64_t rows = 0;
    ChunkCost cost;
  };
  SizedChunks(Schema schema, std::vector<Size> sizes) : schema_(std::move(schema)), sizes_(std::move(sizes)) {
    for (const Size& size : sizes_) begins_.push_back(begins_.back() + size.rows);
  }
  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return begins_.back(); }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 1000; }
  std::string key(int64_t) const override { return ""; }
  int64_t chunks() const override { return static_cast<int64_t>(sizes_.size()); }
  int64_t chunk_begin(int64_t chunk) const override { return begins_[static_cast<size_t>(chunk)]; }
  std::string chunk_name(int64_t) const override { return ""; }
  ChunkCost chunk_cost(int64_t chunk) const override { return sizes_[static_cast<size_t>(chunk)].cost; }
  ChunkFetch chunk_fetch(int64_t) const override { return {}; }
  Result<Columns> decode(int64_t, std::vector<Buffer>, WorkMemory&) const override { return internal_error("never"); }
  std::optional<Hash128> chunk_identity(int64_t) const override { return std::nullopt; }
  Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string>) const override {
    return internal_error("never");
  }

 private:
  const Schema schema_;
  const std::vector<Size> sizes_;
  std::vector<int64_t> begins_ = {0};
};

// One of all forms that an output may have.
OutputField random_output(Random& random) {
  OutputField output;
  switch (up_to(random, 7)) {
    case 0:
    case 1: output.field = field_of("fixed", FieldKind::kTensor, {3, 5}, DType::kFloat32); break;
    case 2: output.field = field_of("bytes", FieldKind::kBytes); break;
    case 3: output.field = field_of("caption", FieldKind::kText); break;
    case 4: output.field = field_of("list", FieldKind::kTensor, {Shape::kUnknown}, DType::kInt32); break;
    case 5:
      output.field = field_of("padded", FieldKind::kTensor, {random() % 2 == 0 ? Shape::kUnknown : 7}, DType::kInt64);
      output.field.pad_value = 0;
      output.field.pad_length = random() % 2 == 0 ? 0 : 500;
      break;
    case 6:
      output.field = field_of("image", FieldKind::kTensor, {Shape::kUnknown, Shape::kUnknown, 3});
      output.field.image = true;
      break;
    default: output.field = field_of("tags", FieldKind::kTextList);
  }
  output.field.fetched = output.field.kind == FieldKind::kBytes || output.field.image;
  if (output.field.fixed_shape() && !output.field.pad_value) output.row_bytes = row_bytes(output.field);
  return output;
}

void add_random_outputs(Random& random, BranchPlan& plan) {
  for (uint64_t i = 0; i <= up_to(random, 4); ++i) plan.outputs.push_back(random_output(random));
  if (random() % 2 == 0) plan.stages.emplace_back(NativeStage());
  plan.working_bytes = up_to(random, 10'000);
}

BranchPlan random_samples(Random& random) {
  std::vector<uint64_t> sizes(up_to(random, 200));
  for (uint64_t& size : sizes) size = random() % 10 == 0 ? up_to(random, 2'000'000) : up_to(random, 1000);
  BranchPlan plan;
  plan.selection = std::make_shared<All>(static_cast<int64_t>(sizes.size()));
  plan.source = std::make_shared<SizedSamples>(std::move(sizes));
  plan.fetches = random() % 4 != 0;
  add_random_outputs(random, plan);
  return plan;
}

BranchPlan random_chunks(Random& random) {
  Schema schema({field_of("a", FieldKind::kTensor, {}, DType::kInt64), field_of("b", FieldKind::kTensor, {3})});
  if (random() % 2 == 0) schema.push_back(field_of("list", FieldKind::kTensor, {Shape::kUnknown}, DType::kInt32));
  if (random() % 2 == 0) schema.push_back(field_of("text", FieldKind::kText));
  std::vector<SizedChunks::Size> sizes(up_to(random, 40));
  for (SizedChunks::Size& size : sizes) {
    size.rows = 1 + static_cast<int64_t>(up_to(random, 300'000) >> up_to(random, 18));
    const uint64_t lists = random() % 3 == 0 ? up_to(random, 5'000'000) : up_to(random, 100);
    size.cost = {up_to(random, 1'000'000), static_cast<uint64_t>(size.rows) * 11 + lists};
  }
  auto chunks = std::make_shared<ChunkPlan>();
  chunks->source = std::make_shared<SizedChunks>(schema, std::move(sizes));
  for (uint64_t i = 0; i < up_to(random, 2); ++i) {
    chunks->ops.emplace_back();
    chunks->ops.back().made_row_bytes = up_to(random, 50);
    chunks->ops.back().list_growth = up_to(random, 4);
  }
  chunks->packed = PackedRows(schema);
  chunks->gathers_rows = random() % 2 == 0;
  BranchPlan plan;
  plan.source = chunks->source;
  plan.selection = std::make_shared<All>(plan.source->size());
  plan.chunks = chunks;
  add_random_outputs(random, plan);
  return plan;
}

RunShape random_shape(Random& random) {
  RunShape shape{.rows = 1 + static_cast<int64_t>(up_to(random, 500)), .replayed_rows = 0};
  shape.replayed_rows = static_cast<int64_t>(up_to(random, static_cast<uint64_t>(shape.rows)));
  shape.block = 1 + static_cast<int64_t>(up_to(random, 8));
  shape.lanes = 1 + static_cast<int64_t>(up_to(random, 3));
  shape.threads = 1 + static_cast<int>(up_to(random, 16));
  shape.classes = up_to(random, 100);
  return shape;
}

void expect_no_more(const MemoryNeeds& expected, const MemoryNeeds& most) {
  EXPECT_EQ(expected.batch.value(), most.batch.value());
  EXPECT_LE(expected.values.value(), most.values.value());
  EXPECT_LE(expected.data.value(), most.data.value());
  EXPECT_LE(expected.working.value(), most.working.value());
  EXPECT_LE(expected.threads.value(), most.threads.value());
  EXPECT_LE(expected.index.value(), most.index.value());
}

TEST(MemoryModel, no_part_of_what_is_expected_is_more_than_what_is_enough) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const BranchPlan plan = seed % 2 == 0 ? random_samples(random) : random_chunks(random);
    const MemoryModel model(plan, random_shape(random));
    expect_no_more(model.expected(), model.most());
    if (testing::Test::HasFailure()) return;
  }
}

TEST(MemoryModel, what_a_batch_of_any_samples_lacks_is_no_more_than_what_is_enough) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const BranchPlan plan = random_samples(random);
    if (plan.source->size() == 0) continue;
    const RunShape shape = random_shape(random);
    const MemoryModel model(plan, shape);
    std::vector<int64_t> ids(static_cast<size_t>(shape.rows));
    // As often as a permutation of all samples lets them meet, the largest among them.
    const auto n = static_cast<uint64_t>(plan.source->size());
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>((i + seed) % n);
    const uint64_t stored = plan.fetches ? plan.samples().fetch(ids.front()).size : 0;
    const ByteCount lacking = ByteCount(plan.batch_bytes(shape.rows)) + model.certain_values(ids) + stored;
    const MemoryNeeds most = model.most();
    ASSERT_LE(lacking.value(), (most.batch + most.values + most.data).value()) << seed;
  }
}

TEST(MemoryModel, what_is_claimed_for_a_chunk_is_no_more_than_what_is_enough) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const BranchPlan plan = random_chunks(random);
    const ChunkMemory memory(*plan.chunks);
    for (int64_t chunk = 0; chunk < plan.chunks->source->chunks(); ++chunk) {
      const ChunkCost cost = plan.chunks->source->chunk_cost(chunk);
      const ChunkMemory::Bytes expected = memory.expected(chunk), most = memory.most(chunk);
      ASSERT_LE(expected.held.value(), most.held.value()) << seed;
      ASSERT_LE(expected.decoding.value(), most.decoding.value()) << seed;
      ASSERT_LE(expected.lists.value(), most.lists.value()) << seed;
      ASSERT_LE(most.lists.value(), most.held.value()) << seed;
      ASSERT_LE(most.held.value(), memory.max_entry_bytes(chunk)) << seed;
      for (const uint64_t stored : {uint64_t{0}, up_to(random, cost.decoded_bytes), cost.decoded_bytes}) {
        const ChunkNeeds entry = memory.needs(chunk, stored, /*is_packed=*/true);
        ASSERT_LE(entry.packed + entry.unpacked, most.held.value()) << seed;
        ASSERT_EQ(entry.working, 0u) << "it is used as it was read";
      }
    }
  }
}

TEST(MemoryModel, a_larger_batch_needs_no_less) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const BranchPlan plan = seed % 2 == 0 ? random_samples(random) : random_chunks(random);
    RunShape shape = random_shape(random);
    const uint64_t before = MemoryModel(plan, shape).most().sum().value();
    ASSERT_GE(before, plan.batch_bytes(shape.rows)) << seed;
    shape.rows *= 2;
    ASSERT_GE(MemoryModel(plan, shape).most().sum().value(), before) << seed;
  }
}

TEST(MemoryModel, threads_keep_a_part_of_what_is_left_and_the_rest_is_enough) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const BranchPlan plan = random_samples(random);
    const RunShape shape = random_shape(random);
    const MemoryModel model(plan, shape);
    const MemoryNeeds most = model.most();
    const ByteCount needed = most.values + most.data + most.working;
    // The sizes that choose_sizes() computes with exactly the memory that was advised.
    const uint64_t left = (needed + most.threads).value() - most.largest_stored;
    const uint64_t kept = static_cast<uint64_t>(shape.threads) * model.thread_bytes(left);
    ASSERT_LE(kept, most.threads.value()) << seed;
  }
}

TEST(MemoryModel, a_thread_keeps_more_for_pictures_than_for_rows) {
  BranchPlan plan;
  plan.source = std::make_shared<SizedSamples>(std::vector<uint64_t>(10, 1000));
  plan.selection = std::make_shared<All>(10);
  plan.outputs.emplace_back().field = field_of("image", FieldKind::kTensor, {Shape::kUnknown, Shape::kUnknown, 3});
  plan.outputs.back().field.image = true;
  EXPECT_EQ(MemoryModel(plan).thread_bytes(), 64 * kKiB) << "no operator works on it";
  plan.stages.emplace_back(NativeStage());
  EXPECT_EQ(MemoryModel(plan).thread_bytes(), 4 * kMiB);
  EXPECT_EQ(MemoryModel(plan, {.threads = 5}).thread_bytes(20'000), 1000u) << "data goes first";
}

TEST(MemoryModel, values_that_are_certain_exist_in_rows_and_in_the_batch) {
  BranchPlan plan;
  plan.source = std::make_shared<SizedSamples>(std::vector<uint64_t>{5, 700});
  plan.selection = std::make_shared<All>(2);
  plan.fetches = true;
  for (const Field& field : plan.source->schema()) plan.outputs.emplace_back().field = field;
  const uint64_t captions = SizedSamples::caption_bytes(1);
  EXPECT_EQ(MemoryModel(plan).certain_values(std::vector<int64_t>{1, 1, 1}).value(),
            2 * 3 * (700 + captions) + 2 * 2 * 4 * sizeof(int64_t));
}

TEST(MemoryModel, sizes_that_no_number_holds_do_not_wrap) {
  auto chunks = std::make_shared<ChunkPlan>();
  const Schema schema({field_of("list", FieldKind::kTensor, {Shape::kUnknown}, DType::kInt32)});
  chunks->source = std::make_shared<SizedChunks>(
      schema, std::vector<SizedChunks::Size>{{1, {UINT64_MAX, UINT64_MAX}}, {1, {100, 100}}});
  BranchPlan plan;
  plan.source = chunks->source;
  plan.selection = std::make_shared<All>(2);
  plan.chunks = chunks;
  plan.outputs.emplace_back().field = schema[0];
  const MemoryModel model(plan, {.rows = 1'000'000});
  EXPECT_EQ(model.most().sum().value(), UINT64_MAX);
  EXPECT_EQ(model.expected().data.value(), UINT64_MAX);
  plan.outputs.front().row_bytes = SIZE_MAX / 2;
  EXPECT_EQ(plan.batch_bytes(3), UINT64_MAX);
}

}  // namespace
}  // namespace forebay
