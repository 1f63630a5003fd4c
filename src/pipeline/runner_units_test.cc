#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "pipeline/runner_test_support.h"

namespace forebay::runner_test {
namespace {

// Units of so many rows each. Fields: id, half (id / 2 as float32), list (id % 4 times id), name ("row id"). A unit's stored bytes
// are its number, so that what was read can be told apart.
class Units final : public UnitSource {
 public:
  Units(std::shared_ptr<Store> store, std::vector<int64_t> rows) : store_(std::move(store)) {
    for (int64_t count : rows) begins_.push_back(begins_.back() + count);
    Field id, half, list, name;
    id.name = "id", id.dtype = DType::kInt64;
    half.name = "half", half.dtype = DType::kFloat32;
    list.name = "list", list.dtype = DType::kInt32, list.shape = Shape{Shape::kUnknown};
    name.name = "name", name.kind = FieldKind::kText;
    schema_ = Schema({half, id, list, name});
  }
  static std::shared_ptr<MemoryStore> store_of(size_t units) {
    auto store = memory_store();
    for (size_t unit = 0; unit < units; ++unit) store->put(key_of(static_cast<int64_t>(unit)), bytes_of(unit));
    return store;
  }
  static std::string key_of(int64_t unit) { return "unit " + std::to_string(unit); }
  static std::string bytes_of(size_t unit) { return std::string(1000, static_cast<char>('a' + unit % 26)); }

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return begins_.back(); }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t id) const override { return "row " + std::to_string(id); }
  int64_t units() const override { return static_cast<int64_t>(begins_.size()) - 1; }
  int64_t unit_begin(int64_t unit) const override { return begins_[static_cast<size_t>(unit)]; }
  std::string unit_name(int64_t unit) const override { return key_of(unit); }
  UnitCost unit_cost(int64_t unit) const override {
    const auto rows = static_cast<uint64_t>(unit_begin(unit + 1) - unit_begin(unit));
    return {1000, rows * 64 + 64};
  }
  UnitFetch unit_fetch(int64_t unit) const override {
    return {store_.get(), {{key_of(unit), ByteRange{0, 400}, 1000}, {key_of(unit), ByteRange{400, 600}, 1000}}};
  }
  Result<Columns> decode(int64_t unit, std::vector<Buffer> fetched, WorkMemory& memory) const override {
    std::string bytes;
    for (const Buffer& piece : fetched) bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    if (bytes != bytes_of(static_cast<size_t>(unit)) || bad_units.contains(unit)) return corrupt("made to fail");
    FOREBAY_RETURN_IF_ERROR(memory.reserve(working_bytes));
    Columns columns;
    columns.schema = schema_;
    columns.rows = unit_begin(unit + 1) - unit_begin(unit);
    const auto rows = static_cast<size_t>(columns.rows);
    Buffer half = Buffer::allocate(4 * rows), id = Buffer::allocate(8 * rows), ends = Buffer::allocate(8 * (rows + 1)),
           text_ends = Buffer::allocate(8 * (rows + 1));
    std::vector<int32_t> list;
    std::string text;
    for (size_t row = 0; row < rows; ++row) {
      const int64_t number = unit_begin(unit) + static_cast<int64_t>(row);
      reinterpret_cast<float*>(half.data())[row] = static_cast<float>(number) / 2;
      reinterpret_cast<int64_t*>(id.data())[row] = number;
      reinterpret_cast<int64_t*>(ends.data())[row] = static_cast<int64_t>(list.size());
      reinterpret_cast<int64_t*>(text_ends.data())[row] = static_cast<int64_t>(text.size());
      list.insert(list.end(), static_cast<size_t>(number % 4), static_cast<int32_t>(number));
      text += key(number);
    }
    reinterpret_cast<int64_t*>(ends.data())[rows] = static_cast<int64_t>(list.size());
    reinterpret_cast<int64_t*>(text_ends.data())[rows] = static_cast<int64_t>(text.size());
    Buffer values = Buffer::allocate(4 * list.size()), chars = Buffer::allocate(text.size());
    if (!list.empty()) std::memcpy(values.data(), list.data(), 4 * list.size());
    std::memcpy(chars.data(), text.data(), text.size());
    columns.values = {{half, {}}, {id, {}}, {values, ends}, {chars, text_ends}};
    std::map<int64_t, Status> bad;
    for (int64_t row : bad_rows) {
      if (row >= unit_begin(unit) && row < unit_begin(unit + 1)) bad[row - unit_begin(unit)] = corrupt("a null");
    }
    if (!bad.empty()) columns.bad_rows = std::make_shared<const std::map<int64_t, Status>>(std::move(bad));
    return columns;
  }
  std::optional<Hash128> unit_identity(int64_t) const override { return std::nullopt; }
  Result<std::shared_ptr<const UnitSource>> with_fields(std::span<const std::string>) const override {
    return internal_error("not asked for here");
  }

  std::set<int64_t> bad_units, bad_rows;
  uint64_t working_bytes = 0;

 private:
  const std::shared_ptr<Store> store_;
  std::vector<int64_t> begins_ = {0};
  Schema schema_;
};

struct UnitRig {
  std::vector<int64_t> rows = {7, 30, 1, 12, 25, 25, 3, 40, 9, 18};
  std::shared_ptr<Store> store;
  std::set<int64_t> bad_units = {}, bad_rows = {};
  uint64_t working_bytes = 0;
  int64_t block = 3, lanes = 1, batch = 16, rank = 0, world = 1;
  std::optional<int64_t> epochs = 2;
  bool single_rows = false;  // an operator looks at each
  RunnerOptions options = {.threads = 2, .requests = 4, .window_batches = 3, .memory = uint64_t{16} << 20};

  std::shared_ptr<Runner> make() {
    if (!store) store = Units::store_of(rows.size());
    auto source = std::make_shared<Units>(store, rows);
    source->bad_units = bad_units;
    source->bad_rows = bad_rows;
    source->working_bytes = working_bytes;
    auto units = std::make_shared<UnitPlan>();
    units->source = source;
    units->packed = PackedRows(source->schema());
    units->gathers_rows = !single_rows;
    auto plan = std::make_shared<ExecutionPlan>();
    plan->source = source;
    plan->selection = std::make_shared<All>(source->size());
    plan->seed = 5;
    plan->units = units;
    plan->output_schema = source->schema();
    for (const Field& field : source->schema()) {
      OutputField output;
      output.field = field;
      if (field.fixed_shape()) output.row_bytes = row_bytes(field);
      plan->outputs.push_back(std::move(output));
    }
    if (single_rows) {
      NativeStage stage;
      stage.ops.push_back({"look", std::make_unique<Does>([](Record&, const SampleContext&) { return Status(); }),
                           std::make_shared<StepCounters>()});
      plan->stages.emplace_back(std::move(stage));
    }
    std::shared_ptr<const Order> order =
        blockwise_order({.chunk_rows = rows, .block = block, .lanes = lanes, .seed = 11}).value();
    const Schedule schedule({.epoch_size = source->size(), .batch_size = batch, .world_size = world},
                            lanes > 1 ? deal_by_lane(lanes) : deal_by_count());
    auto itinerary = std::make_shared<const Itinerary>(order, schedule, 5, rank, epochs);
    return std::make_shared<Runner>(plan, itinerary, options);
  }
};

// What a run delivers, row by row: "epoch:position:id|half|list|name".
std::vector<std::string> lines_of(const Batch& batch) {
  std::vector<std::string> lines;
  const int64_t* ends = batch.find("list")->offsets.data<int64_t>();
  for (int64_t row = 0; row < batch.size() - batch.padding; ++row) {
    const auto at = static_cast<size_t>(row);
    std::string line = std::to_string(batch.epoch) + ":" + std::to_string(batch.positions[at]) + ":" +
                       std::to_string(batch.find("id")->values.data<int64_t>()[row]) + "|" +
                       std::to_string(batch.find("half")->values.data<float>()[row]) + "|";
    for (int64_t i = ends[row]; i < ends[row + 1]; ++i)
      line += std::to_string(batch.find("list")->values.data<int32_t>()[i]) + ",";
    const auto name = batch.find("name")->row(row);
    line += "|" + std::string(name.begin(), name.end());
    EXPECT_EQ(batch.ids[at], batch.find("id")->values.data<int64_t>()[row]);
    lines.push_back(std::move(line));
  }
  return lines;
}

struct Ran {
  std::vector<std::string> lines;
  std::vector<RowError> errors;
  std::vector<uint32_t> decodes;
  uint64_t peak = 0, used = 0;
  Status status;
};

Ran run_all(const std::shared_ptr<Runner>& runner) {
  Ran ran;
  for (;;) {
    Result<Runner::Delivery> delivery = runner->next_for(std::chrono::seconds(30));
    if (!delivery.ok()) {
      ran.status = delivery.status();
      if (!is_data_error(ran.status.code())) break;
      continue;
    }
    EXPECT_FALSE(delivery->timed_out);
    ran.errors.insert(ran.errors.end(), delivery->errors.begin(), delivery->errors.end());
    if (!delivery->batch) break;
    const std::vector<std::string> lines = lines_of(*delivery->batch);
    ran.lines.insert(ran.lines.end(), lines.begin(), lines.end());
  }
  ran.decodes = runner->decodes();
  ran.peak = runner->stats().memory.peak;
  runner->close();
  return ran;
}

std::vector<std::string> expected(const UnitRig& rig) {
  int64_t size = 0;
  for (int64_t rows : rig.rows) size += rows;
  const auto order =
      blockwise_order({.chunk_rows = rig.rows, .block = rig.block, .lanes = rig.lanes, .seed = 11}).value();
  std::vector<std::string> lines;
  for (int64_t epoch = 0; epoch < *rig.epochs; ++epoch) {
    for (int64_t position = 0; position < size; ++position) {
      const int64_t id = order->id_at(epoch, position);
      std::string line = std::to_string(epoch) + ":" + std::to_string(position) + ":" + std::to_string(id) + "|" +
                         std::to_string(static_cast<float>(id) / 2) + "|";
      for (int64_t i = 0; i < id % 4; ++i) line += std::to_string(id) + ",";
      lines.push_back(line + "|row " + std::to_string(id));
    }
  }
  return lines;
}

TEST(RunnerUnits, rows_come_in_the_order_of_the_plan_whatever_threads_blocks_and_lanes) {
  for (bool single_rows : {false, true}) {
    for (int threads : {1, 2, 8}) {
      for (int64_t block : {1, 3, 20}) {
        for (int64_t lanes : {1, 3}) {
          UnitRig rig;
          rig.options.threads = threads;
          rig.block = block;
          rig.lanes = lanes;
          rig.single_rows = single_rows;
          const Ran ran = run_all(rig.make());
          EXPECT_TRUE(ran.status.ok()) << ran.status.to_string();
          EXPECT_EQ(ran.lines, expected(rig)) << threads << " threads, block " << block << ", lanes " << lanes;
        }
      }
    }
  }
}

TEST(RunnerUnits, each_unit_is_decoded_once_an_epoch) {
  UnitRig rig;
  rig.batch = 5;
  rig.epochs = 1;
  for (uint32_t decodes : run_all(rig.make()).decodes) EXPECT_EQ(decodes, 1u);
  // One that ends an epoch and begins the next one may still be there.
  rig.epochs = 2;
  for (uint32_t decodes : run_all(rig.make()).decodes) EXPECT_LE(decodes, 2u);
}

TEST(RunnerUnits, a_small_budget_makes_it_slower_and_changes_nothing) {
  for (bool single_rows : {false, true}) {
    UnitRig rig;
    rig.single_rows = single_rows;
    rig.rows = std::vector<int64_t>(20, 100);
    rig.options.working_bytes_per_thread = 1024;
    rig.epochs = 4;
    // Three units, one that is decoded (twice, and its stored bytes), a batch.
    rig.options.memory = 3 * 6464 + 2 * 6464 + 1000 + 2048 + 16 * 64;
    const Ran ran = run_all(rig.make());
    EXPECT_TRUE(ran.status.ok()) << ran.status.to_string();
    EXPECT_EQ(ran.lines, expected(rig));
    EXPECT_LE(ran.peak, rig.options.memory);
  }
}

TEST(RunnerUnits, lists_survive_a_small_budget_where_rows_of_a_block_do_not_stand_together) {
  for (uint64_t memory = 60'000; memory <= 90'000; memory += 1'500) {
    UnitRig rig;
    rig.rows = std::vector<int64_t>(20, 100);
    rig.lanes = 2;
    rig.batch = 64;
    rig.options.working_bytes_per_thread = 1024;
    rig.options.memory = memory;
    const Ran ran = run_all(rig.make());
    EXPECT_TRUE(ran.status.ok()) << ran.status.to_string();
    EXPECT_EQ(ran.lines, expected(rig)) << memory;
  }
}

TEST(RunnerUnits, memory_that_decoding_asks_for_is_found) {
  UnitRig rig;
  rig.working_bytes = 200'000;
  rig.options.memory = 320'000;
  const Ran ran = run_all(rig.make());
  EXPECT_TRUE(ran.status.ok()) << ran.status.to_string();
  EXPECT_EQ(ran.lines, expected(rig));
}

TEST(RunnerUnits, what_can_never_be_had_is_said_with_the_figure) {
  UnitRig rig;
  rig.working_bytes = 1 << 30;
  const Ran ran = run_all(rig.make());
  EXPECT_EQ(ran.status.code(), Code::kOutOfBudget);
  EXPECT_GE(ran.status.bytes_needed(), uint64_t{1} << 30);
}

TEST(RunnerUnits, reads_that_take_time_change_nothing) {
  UnitRig rig;
  rig.store = slow_store(Units::store_of(rig.rows.size()), {.seed = 3, .latency_ms = 3, .jitter_ms = 3});
  for (int64_t lanes : {1, 2}) {
    for (uint64_t ahead : {0, 2500, 1 << 20}) {
      rig.lanes = lanes;
      rig.options.ahead_bytes = ahead;
      const Ran ran = run_all(rig.make());
      EXPECT_EQ(ran.lines, expected(rig));
      for (uint32_t decodes : ran.decodes) EXPECT_LE(decodes, lanes == 1 ? 2u : 4u) << "lanes cut units in two";
    }
  }
}

TEST(RunnerUnits, a_bad_unit_spoils_its_own_rows_alone) {
  for (int variant = 0; variant < 4; ++variant) {
    UnitRig rig;
    rig.single_rows = variant % 2 != 0;
    rig.lanes = variant < 2 ? 1 : 3;
    rig.bad_units = {3};
    rig.epochs = 1;
    rig.options.bad_sample = BadSample::kSkip;
    const Ran ran = run_all(rig.make());
    std::vector<std::string> good;
    for (const std::string& line : expected(rig)) {
      const int64_t id = std::stoll(line.substr(line.find(':', 2) + 1));
      if (id < 38 || id >= 50) good.push_back(line);
    }
    EXPECT_EQ(ran.lines, good);
    EXPECT_EQ(ran.errors.size(), 12u);
    for (const RowError& error : ran.errors) EXPECT_EQ(error.status.code(), Code::kCorrupt);
  }
}

TEST(RunnerUnits, a_stand_in_comes_from_the_same_block_and_does_not_depend_on_threads) {
  for (int64_t lanes : {1, 3}) {
    UnitRig rig;
    rig.lanes = lanes;
    rig.bad_rows = {0, 5, 60, 61, 62};
    rig.epochs = 1;
    rig.options.bad_sample = BadSample::kReplace;
    const Ran one = run_all(rig.make());
    rig.options.threads = 7;
    rig.single_rows = true;
    const Ran other = run_all(rig.make());
    EXPECT_EQ(one.lines, other.lines);
    EXPECT_EQ(one.lines.size(), expected(rig).size());
    for (const std::string& line : one.lines) {
      const int64_t id = std::stoll(line.substr(line.find(':', 2) + 1));
      EXPECT_FALSE(rig.bad_rows.contains(id));
    }
    for (uint32_t decodes : one.decodes) EXPECT_LE(decodes, lanes == 1 ? 1u : 2u);
  }
}

TEST(RunnerUnits, a_bad_row_is_raised_in_its_place_and_the_run_goes_on) {
  UnitRig rig;
  rig.bad_rows = {17};
  rig.epochs = 1;
  const Ran ran = run_all(rig.make());
  EXPECT_EQ(ran.status.code(), Code::kCorrupt);
  EXPECT_NE(ran.status.to_string().find("row 17"), std::string::npos) << ran.status.to_string();
  EXPECT_EQ(ran.lines.size(), 170u - 16u);  // its batch is left behind
}

TEST(RunnerUnits, ranks_share_an_epoch_by_lanes) {
  for (int64_t world : {1, 2, 3, 5}) {
    std::vector<std::string> all;
    UnitRig rig;
    rig.lanes = 6;
    rig.batch = 30 / world;
    rig.epochs = 1;
    rig.world = world;
    for (rig.rank = 0; rig.rank < world; ++rig.rank) {
      const Ran ran = run_all(rig.make());
      all.insert(all.end(), ran.lines.begin(), ran.lines.end());
    }
    std::vector<std::string> wanted = expected(rig);
    std::sort(all.begin(), all.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(all, wanted) << world;
  }
}

TEST(RunnerUnits, going_on_in_the_middle_gives_the_same_rows) {
  UnitRig rig;
  const std::vector<std::string> whole = expected(rig);
  for (int64_t position : {0, 16, 64, 160}) {
    const auto runner = rig.make();
    ASSERT_TRUE(runner->next_for(std::chrono::seconds(30)).ok());
    runner->seek({0, position, position / 16});
    EXPECT_EQ(run_all(runner).lines, std::vector<std::string>(whole.begin() + position, whole.end())) << position;
  }
}

// Under a sanitizer: what a thread puts together stays until it has done so.
TEST(RunnerUnits, going_elsewhere_again_and_again_while_batches_are_put_together) {
  UnitRig rig;
  const std::vector<std::string> whole = expected(rig);
  const auto runner = rig.make();
  for (int64_t i = 0; i < 200; ++i) {
    const int64_t position = 16 * (i % 8);
    runner->seek({0, position, position / 16});
    ASSERT_TRUE(runner->next_for(std::chrono::seconds(60)).ok());
  }
  runner->seek({0, 64, 4});
  EXPECT_EQ(run_all(runner).lines, std::vector<std::string>(whole.begin() + 64, whole.end()));
}

TEST(RunnerUnits, closing_in_the_middle_leaves_nothing_behind) {
  for (int batches = 0; batches < 6; ++batches) {
    UnitRig rig;
    rig.store = slow_store(Units::store_of(rig.rows.size()), {.seed = 3, .latency_ms = 5, .jitter_ms = 5});
    const auto runner = rig.make();
    for (int i = 0; i < batches; ++i) ASSERT_TRUE(runner->next_for(std::chrono::seconds(30)).ok());
    runner->close();
    const auto memory = runner->stats().memory;
    EXPECT_EQ(memory.by_use[static_cast<size_t>(Use::kUnits)], 0u);
    EXPECT_EQ(memory.by_use[static_cast<size_t>(Use::kFetched)], 0u);
  }
}

}  // namespace
}  // namespace forebay::runner_test
