#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "forebay/string_list.h"
#include "pipeline/run/runner_test_support.h"

namespace forebay::runner_test {

// The field `tags` of a row: id % 3 strings, the second of them empty.
inline std::vector<std::string> tags_of(int64_t id) {
  std::vector<std::string> tags = {"tag " + std::to_string(id), ""};
  tags.resize(static_cast<size_t>(id % 3));
  return tags;
}

// A source with chunks of `rows` rows. The fields are id, half (id / 2 as float32), list (id % 4
// times id), name ("row id"), and optionally tags (lists of text). The stored bytes of a chunk are
// its number, which tells what was read.
class MadeChunks final : public ChunkSource {
 public:
  MadeChunks(std::shared_ptr<Store> store, std::vector<int64_t> rows, bool with_tags = false)
      : store_(std::move(store)) {
    for (int64_t count : rows) begins_.push_back(begins_.back() + count);
    Field id, half, list, name;
    id.name = "id", id.dtype = DType::kInt64;
    half.name = "half", half.dtype = DType::kFloat32;
    list.name = "list", list.dtype = DType::kInt32, list.shape = Shape{Shape::kUnknown};
    name.name = "name", name.kind = FieldKind::kText;
    schema_ = Schema({half, id, list, name});
    if (!with_tags) return;
    Field tags;
    tags.name = "tags", tags.kind = FieldKind::kTextList;
    schema_.push_back(std::move(tags));
  }
  static std::shared_ptr<MemoryStore> store_of(size_t chunks) {
    auto store = memory_store();
    for (size_t chunk = 0; chunk < chunks; ++chunk) store->put(key_of(static_cast<int64_t>(chunk)), bytes_of(chunk));
    return store;
  }
  static std::string key_of(int64_t chunk) { return "chunk " + std::to_string(chunk); }
  static std::string bytes_of(size_t chunk) { return std::string(1000, static_cast<char>('a' + chunk % 26)); }

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return begins_.back(); }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t id) const override { return "row " + std::to_string(id); }
  int64_t chunks() const override { return static_cast<int64_t>(begins_.size()) - 1; }
  int64_t chunk_begin(int64_t chunk) const override { return begins_[static_cast<size_t>(chunk)]; }
  std::string chunk_name(int64_t chunk) const override { return key_of(chunk); }
  ChunkCost chunk_cost(int64_t chunk) const override {
    const auto rows = static_cast<uint64_t>(chunk_begin(chunk + 1) - chunk_begin(chunk));
    return {1000, rows * (schema_.size() > 4 ? 112 : 64) + 64};
  }
  ChunkFetch chunk_fetch(int64_t chunk) const override {
    return {store_.get(), {{key_of(chunk), ByteRange{0, 400}, 1000}, {key_of(chunk), ByteRange{400, 600}, 1000}}};
  }
  Result<Columns> decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& memory) const override {
    std::string bytes;
    for (const Buffer& piece : fetched) bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    if (bytes != bytes_of(static_cast<size_t>(chunk)) || bad_chunks.contains(chunk)) return corrupt("made to fail");
    FOREBAY_RETURN_IF_ERROR(memory.reserve(working_bytes));
    Columns columns;
    columns.schema = schema_;
    columns.rows = chunk_begin(chunk + 1) - chunk_begin(chunk);
    const auto rows = static_cast<size_t>(columns.rows);
    Buffer half = Buffer::allocate(4 * rows), id = Buffer::allocate(8 * rows), ends = Buffer::allocate(8 * (rows + 1)),
           text_ends = Buffer::allocate(8 * (rows + 1));
    std::vector<int32_t> list;
    std::string text;
    for (size_t row = 0; row < rows; ++row) {
      const int64_t number = chunk_begin(chunk) + static_cast<int64_t>(row);
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
    if (schema_.size() > 4) columns.values.push_back(tags(chunk));
    std::map<int64_t, Status> bad;
    for (int64_t row : bad_rows) {
      if (row >= chunk_begin(chunk) && row < chunk_begin(chunk + 1)) bad[row - chunk_begin(chunk)] = corrupt("a null");
    }
    if (!bad.empty()) columns.bad_rows = std::make_shared<const std::map<int64_t, Status>>(std::move(bad));
    return columns;
  }
  std::optional<Hash128> chunk_identity(int64_t chunk) const override {
    return Hash128{identity, static_cast<uint64_t>(chunk)};
  }
  Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string>) const override {
    return internal_error("not asked for here");
  }

  std::set<int64_t> bad_chunks, bad_rows;
  uint64_t working_bytes = 0, identity = 0;

 private:
  ColumnValues tags(int64_t chunk) const {
    std::string runs;
    std::vector<int64_t> ends = {0};
    for (int64_t id = chunk_begin(chunk); id < chunk_begin(chunk + 1); ++id) {
      const std::vector<std::string> strings = tags_of(id);
      const Tensor run = StringList::pack(std::vector<std::string_view>(strings.begin(), strings.end())).value();
      runs.append(reinterpret_cast<const char*>(run.buffer.data()), run.nbytes());
      ends.push_back(static_cast<int64_t>(runs.size()));
    }
    ColumnValues made{Buffer::allocate(runs.size()), Buffer::allocate(ends.size() * sizeof(int64_t))};
    std::memcpy(made.values.data(), runs.data(), runs.size());
    std::memcpy(made.offsets.data(), ends.data(), made.offsets.size());
    return made;
  }

  const std::shared_ptr<Store> store_;
  std::vector<int64_t> begins_ = {0};
  Schema schema_;
};

struct ChunkRig {
  std::vector<int64_t> rows = {7, 30, 1, 12, 25, 25, 3, 40, 9, 18};
  std::shared_ptr<Store> store;
  std::set<int64_t> bad_chunks = {}, bad_rows = {};
  uint64_t working_bytes = 0;
  // Identity of the stored data, which runs on the same engine share. 0 if it is not shared.
  uint64_t identity = 0;
  int64_t block = 3, lanes = 1, batch = 16, rank = 0, world = 1;
  std::optional<int64_t> epochs = 2;
  bool single_rows = false;  // an operator runs on single rows
  std::shared_ptr<Engine> engine = std::make_shared<Engine>(1);
  bool tags = false;
  RunnerOptions options = {
      .threads = 2, .requests = 4, .window_batches = 3, .memory = {.share = {.wanted = uint64_t{16} << 20}}};

  std::shared_ptr<BranchPlan> plan() {
    if (!store) store = MadeChunks::store_of(rows.size());
    auto source = std::make_shared<MadeChunks>(store, rows, tags);
    source->bad_chunks = bad_chunks;
    source->bad_rows = bad_rows;
    source->working_bytes = working_bytes;
    source->identity = identity;
    auto chunks = std::make_shared<ChunkPlan>();
    chunks->source = source;
    chunks->packed = PackedRows(source->schema());
    chunks->gathers_rows = !single_rows;
    if (identity != 0) chunks->rows_identity = Hash128{1, 1};
    auto plan = std::make_shared<BranchPlan>();
    plan->source = source;
    plan->selection = std::make_shared<All>(source->size());
    plan->seed = 5;
    plan->chunks = chunks;
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
    return plan;
  }
  std::shared_ptr<StepSource> itinerary() const {
    const std::shared_ptr<const Order> order =
        blockwise_order({.chunk_rows = rows, .block = block, .lanes = lanes, .seed = 11}).value();
    const EqualBatches schedule({.epoch_size = order->size(), .batch_size = batch, .world_size = world},
                                lanes > 1 ? assignment_by_lane(lanes) : assignment_by_count());
    return std::make_shared<IndexedItinerary>(order, all_of(order->size()), schedule, rank, epochs);
  }
  std::shared_ptr<Runner> make() { return std::make_shared<Runner>(engine, plan(), itinerary(), options); }
};

inline std::string tags_text(const std::vector<std::string>& tags) {
  std::string text;
  for (const std::string& tag : tags) text += "'" + tag + "'";
  return text;
}

inline std::string tags_text(const BatchField& field, int64_t row) {
  std::vector<std::string> tags;
  const auto* strings = field.offsets.data<int64_t>();
  const auto* bytes = field.string_offsets.data<int64_t>();
  const auto* values = field.values.data<char>();
  for (int64_t i = strings[row]; i < strings[row + 1]; ++i) tags.emplace_back(values + bytes[i], values + bytes[i + 1]);
  return tags_text(tags);
}

// Rows of a batch as text: "epoch:position:id|half|list|name", and "|tags" if there are tags.
inline std::vector<std::string> lines_of(const Batch& batch) {
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
    if (const BatchField* tags = batch.find("tags")) line += "|" + tags_text(*tags, row);
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

inline Ran run_all(const std::shared_ptr<Runner>& runner) {
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

inline std::vector<std::string> expected(const ChunkRig& rig) {
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
      line += "|row " + std::to_string(id);
      lines.push_back(rig.tags ? line + "|" + tags_text(tags_of(id)) : line);
    }
  }
  return lines;
}

}  // namespace forebay::runner_test
