#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "pipeline/run/runner.h"
#include "plan/order.h"
#include "store/memory/memory_store.h"
#include "store/slow/slow_store.h"

namespace forebay::runner_test {

/// A source for tests. Object `id` has `sizes[id]` bytes in a store, and its label is 10 × id. The
/// fields are bytes (fetched) and label.
class Objects final : public SampleSource {
 public:
  /// `guess`: the size that every object is taken to have, if sizes are not known.
  Objects(std::shared_ptr<Store> store, std::vector<uint64_t> sizes, std::optional<uint64_t> guess = {})
      : store_(std::move(store)), sizes_(std::move(sizes)), guess_(guess) {
    Field bytes, label;
    bytes.name = "bytes";
    bytes.kind = FieldKind::kBytes;
    bytes.fetched = true;
    label.name = "label";
    label.dtype = DType::kInt64;
    schema_ = Schema({bytes, label});
  }
  static std::string key_of(int64_t id) { return "object " + std::to_string(id); }
  static std::shared_ptr<MemoryStore> store_of(const std::vector<uint64_t>& sizes) {
    auto store = memory_store();
    for (size_t id = 0; id < sizes.size(); ++id) {
      std::string bytes(sizes[id], '\0');
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(id * 7 + i);
      store->put(key_of(static_cast<int64_t>(id)), bytes);
    }
    return store;
  }

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return static_cast<int64_t>(sizes_.size()); }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t id) const override { return key_of(id); }
  Fetch fetch(int64_t id) const override {
    if (guess_) return {store_.get(), {key_of(id), {}, {}}, *guess_};
    return {store_.get(), {key_of(id), {}, sizes_[static_cast<size_t>(id)]}, sizes_[static_cast<size_t>(id)]};
  }
  Status load(int64_t id, Buffer fetched, Record& record) const override {
    record.clear();
    record.push_back(Value::of_bytes(std::move(fetched)));
    Tensor label = Tensor::allocate(DType::kInt64, {});
    *label.data<int64_t>() = 10 * id;
    record.push_back(Value::of(std::move(label)));
    return {};
  }

 private:
  const std::shared_ptr<Store> store_;
  const std::vector<uint64_t> sizes_;
  const std::optional<uint64_t> guess_;
  Schema schema_;
};

class All final : public Selection {
 public:
  explicit All(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  int64_t id_at(int64_t index) const override { return index; }

 private:
  const int64_t size_;
};

inline BranchSamples all_of(int64_t size) { return {std::make_shared<All>(size), 5}; }

/// An operator that calls a function.
class Does final : public RecordOp {
 public:
  using Function = std::function<Status(Record&, const SampleContext&)>;
  explicit Does(Function function) : function_(std::move(function)) {}
  Status apply(Record& record, const SampleContext& context) const override { return function_(record, context); }

 private:
  const Function function_;
};

/// Replaces the bytes by 16 bytes that depend on them and on the sample's random numbers. Samples
/// in `bad` are Corrupt.
inline Does::Function summary(std::set<int64_t> bad = {}, uint64_t working_bytes = 0) {
  return [bad = std::move(bad), working_bytes](Record& record, const SampleContext& context) -> Status {
    if (bad.contains(context.key.id)) return corrupt("made to fail");
    FOREBAY_RETURN_IF_ERROR(context.memory->reserve(working_bytes));
    const Hash128 hash = hash128(record[0].bytes.data(), record[0].bytes.size());
    RandomStream random(context.key, 0);
    Tensor made = Tensor::allocate(DType::kUint64, {2});
    made.data<uint64_t>()[0] = hash.low;
    made.data<uint64_t>()[1] = random.next_u64();
    record[0] = Value::of(std::move(made));
    return {};
  };
}

/// Operators like summary(). The first call does not return before the test allows it.
class HeldWork {
 public:
  Does::Function function() {
    return [this](Record& record, const SampleContext& context) {
      if (first_.exchange(false)) begun_.set_value(), may_return_.wait();
      return summary()(record, context);
    };
  }
  void wait_until_begun() { begun_.get_future().wait(); }
  void release() { let_go_.set_value(); }

 private:
  std::atomic<bool> first_ = true;
  std::promise<void> begun_, let_go_;
  const std::shared_future<void> may_return_ = let_go_.get_future().share();
};

/// The configuration of a run in a test. run() makes the runner; plan() and itinerary() make its
/// plan and order.
struct Rig {
  std::shared_ptr<Store> store;
  std::vector<uint64_t> sizes = std::vector<uint64_t>(50, 1000);
  std::optional<uint64_t> guessed_size = {};
  std::vector<std::pair<std::string, Does::Function>> ops = {{"summary", summary()}};
  /// Type and shape of the first field after the operators. Nothing if it stays bytes.
  std::optional<std::pair<DType, Shape>> made = {{DType::kUint64, Shape{2}}};
  int64_t batch = 8;
  LastPolicy last = LastPolicy::kPartial;
  std::optional<int64_t> epochs = 1;
  bool shuffled = true;
  std::shared_ptr<Engine> engine = std::make_shared<Engine>(1);
  RunnerOptions options = {
      .threads = 2, .requests = 4, .window_batches = 3, .memory = {.share = {.wanted = uint64_t{64} << 20}}};
  /// Changes the plan after it was made.
  std::function<void(BranchPlan&)> change_plan;

  std::shared_ptr<BranchPlan> plan() {
    if (!store) store = Objects::store_of(sizes);
    auto plan = std::make_shared<BranchPlan>();
    plan->source = std::make_shared<Objects>(store, sizes, guessed_size);
    plan->selection = std::make_shared<All>(plan->source->size());
    plan->seed = 5;
    plan->fetches = true;
    NativeStage stage;
    for (auto& [name, function] : ops)
      stage.ops.push_back({name, std::make_unique<Does>(function), std::make_shared<StepCounters>()});
    if (!stage.ops.empty()) plan->stages.push_back(std::move(stage));
    plan->output_schema = plan->source->schema();
    if (made) {
      plan->output_schema[0].kind = FieldKind::kTensor;
      plan->output_schema[0].dtype = made->first;
      plan->output_schema[0].shape = made->second;
    }
    for (const Field& field : plan->output_schema) {
      OutputField output;
      output.field = field;
      if (field.fixed_shape()) output.row_bytes = static_cast<size_t>(field.shape.elements()) * dtype_size(field.dtype);
      plan->outputs.push_back(std::move(output));
    }
    if (change_plan) change_plan(*plan);
    return plan;
  }
  std::shared_ptr<StepSource> itinerary() const {
    const auto n = static_cast<int64_t>(sizes.size());
    std::shared_ptr<const Order> order = shuffled ? shuffled_order(n, 5) : sequential_order(n);
    return std::make_shared<IndexedItinerary>(
        std::move(order), all_of(n),
        EqualBatches({.epoch_size = n, .batch_size = batch, .world_size = 1, .last = last}), 0, epochs);
  }
  std::shared_ptr<Runner> run() { return std::make_shared<Runner>(engine, plan(), itinerary(), options); }
};

inline std::vector<uint64_t> mixed_sizes(int64_t n) {
  std::vector<uint64_t> sizes;
  for (int64_t i = 0; i < n; ++i) sizes.push_back(static_cast<uint64_t>(100 + i * 37 % 5000));
  return sizes;
}

inline std::shared_ptr<SlowStore> jittery(const std::vector<uint64_t>& sizes, uint64_t seed = 1) {
  return slow_store(Objects::store_of(sizes), {.seed = seed, .latency_ms = 0.1, .jitter_ms = 2});
}

/// One row of 10,000 numbers pads every row of its batch to that length.
inline Rig padded(uint64_t memory) {
  Rig setup;
  setup.sizes.assign(16, 10);
  setup.batch = 16;
  setup.shuffled = false;
  setup.ops = {{"rows", [](Record& record, const SampleContext& context) -> Status {
                  Tensor row = Tensor::allocate(DType::kUint8, {context.key.id == 5 ? 10'000 : 1});
                  std::memset(row.buffer.data(), 3, row.nbytes());
                  record[0] = Value::of(std::move(row));
                  return {};
                }}};
  setup.made = {{DType::kUint8, Shape{Shape::kUnknown}}};
  setup.change_plan = [](BranchPlan& plan) {
    plan.output_schema[0].pad_value = 9;
    plan.outputs[0].field.pad_value = 9;
  };
  setup.options.memory.share.wanted = memory;
  return setup;
}

/// The result of a whole run: a digest of all batches, their ids, and the errors, including those
/// in place of a batch.
struct Outcome {
  std::string digest;
  std::vector<int64_t> ids, labels;
  std::vector<std::string> raised, told;
  Status status;  // the last error in place of a batch
  int64_t batches = 0;
};

inline Outcome drain(Runner& runner, int64_t most = 1'000'000) {
  Outcome outcome;
  Hasher hasher;
  while (outcome.batches < most) {
    // The time-out is long enough for a busy machine.
    Result<Runner::Delivery> delivery = runner.next_for(std::chrono::seconds(120));
    if (!delivery.ok()) {
      outcome.status = delivery.status();
      outcome.raised.push_back(outcome.status.to_string());
      if (!is_data_error(delivery.status().code())) break;
      continue;
    }
    if (!delivery->batch) {
      if (delivery->timed_out) outcome.raised.push_back("timed out");
      break;
    }
    ++outcome.batches;
    const Batch& batch = *delivery->batch;
    for (const RowError& error : delivery->errors) outcome.told.push_back(error.status.to_string());
    outcome.ids.insert(outcome.ids.end(), batch.ids.begin(), batch.ids.end());
    for (const BatchField& field : batch.fields) {
      for (int64_t row = 0; row < batch.size(); ++row) hasher.update(field.row(row).data(), field.row(row).size());
      if (field.name != "label") continue;
      for (int64_t row = 0; row < batch.size(); ++row) outcome.labels.push_back(field.values.data<int64_t>()[row]);
    }
  }
  outcome.digest = hasher.digest().to_string();
  return outcome;
}

}  // namespace forebay::runner_test
