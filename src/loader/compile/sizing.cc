#include "loader/compile/sizing.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "runtime/host.h"
#include "store/concurrency_control.h"

namespace forebay {

namespace {

constexpr int kMaxThreads = 1024, kMaxRequests = 65'536;
constexpr int kLocalRequests = 16;

// Memory for sizes that vary: rounding, and the idle memory of pools.
constexpr uint64_t kSlack = 4 * kMiB;

// Chooses enough batches to keep all threads busy. Small batches are cheap, so that more of them
// make up for the cost of handing one over.
int64_t window(int threads, int64_t rows, uint64_t batch_bytes) {
  constexpr uint64_t kSmall = 4 * kMiB;
  // Each thread has one row at work and others waiting: 4 rows a thread.
  const int64_t for_threads = (4 * threads + rows - 1) / rows;
  const auto small = static_cast<int64_t>(kSmall / std::max<uint64_t>(batch_bytes, 1));
  return std::clamp<int64_t>(std::max(2 + for_threads, std::min<int64_t>(small, 16)), 3, 256);
}

uint64_t saturating_sub(uint64_t bytes, uint64_t taken) { return bytes - std::min(bytes, taken); }

// Advises settings that would fit into `bytes`.
std::string suggest_settings(const std::vector<uint64_t>& chunks, RunShape smaller, uint64_t bytes) {
  const auto fits = [&] { return sum_of_largest(chunks, smaller.chunks_mixed()) <= bytes; };
  for (; smaller.block > 1; --smaller.block) {
    if (fits()) return fmt::format("shuffle with block={} or less", smaller.block);
  }
  for (; smaller.lanes > 1; --smaller.lanes) {
    if (fits()) return fmt::format("shuffle with block=1 and lanes={} or less", smaller.lanes);
  }
  if (fits()) return "shuffle with block=1 and lanes=1";
  return "write the table with smaller row groups, since not even two of these fit";
}

Status check_range(std::string_view name, std::optional<int> given, int most) {
  if (!given || (*given >= 1 && *given <= most)) return {};
  return invalid_argument(fmt::format("{}={} is out of range; give 1 to {}, or leave it out", name, *given, most));
}

template <class Number>
Status check_engine(std::string_view name, std::optional<Number> given, std::optional<Number> engine) {
  if (!given || !engine || *given <= *engine) return {};
  return invalid_argument(
      fmt::format("{}={} is more than the engine of this process has, {}; give less, or more to fb.engine()", name,
                  *given, *engine));
}

// Chooses the part of the process's memory, unless the user did. The process may raise its own
// choice: rows may be longer than the mean, and a decoder's need for a rare sample is not known.
void choose_share(const SizingInput& input, uint64_t wanted, uint64_t floor, uint64_t least, Memory::Demand& share) {
  const uint64_t limit = input.engine.memory.value_or(usable_memory() / 4 / static_cast<uint64_t>(input.local_ranks));
  share.wanted = input.memory.value_or(std::max(std::min(wanted, limit), floor));
  share.least = std::min(least, share.wanted);
  if (!input.memory) share.shared_limit = std::max(share.wanted, limit);
}

// The memory models of all branches of a plan.
class Models {
 public:
  void add(const MemoryModel& model, const BranchPlan& plan) {
    if (plan.chunks) add_chunks(model, plan.name);
    models_.push_back(model);
  }
  bool any_with_chunks() const { return with_chunks_.has_value(); }
  /// The one whose mixed chunks take most. There must be one with chunks.
  const MemoryModel& with_chunks() const { return models_[*with_chunks_]; }
  /// " of 'web'": that one, if there are several branches.
  std::string of_largest() const { return name_.empty() ? "" : fmt::format(" of '{}'", name_); }
  int64_t rows() const { return models_.front().shape().rows; }
  MemoryNeeds expected() const {
    return sum([](const MemoryModel& model) { return model.expected(); });
  }
  MemoryNeeds most() const {
    return sum([](const MemoryModel& model) { return model.most(); });
  }
  uint64_t thread_bytes(uint64_t left = UINT64_MAX) const {
    uint64_t bytes = 0;
    for (const MemoryModel& model : models_) bytes = std::max(bytes, model.thread_bytes(left));
    return bytes;
  }

 private:
  template <class NeedsOf>
  MemoryNeeds sum(NeedsOf needs_of) const {
    MemoryNeeds all = needs_of(models_.front());
    for (size_t i = 1; i < models_.size(); ++i) all += needs_of(models_[i]);
    return all;
  }

  void add_chunks(const MemoryModel& model, const std::string& name) {
    const MemoryNeeds needs = model.expected();
    const uint64_t mixed = sum_of_largest(needs.chunks, needs.chunks_mixed).value();
    if (with_chunks_ && mixed <= mixed_) return;
    with_chunks_ = models_.size();
    mixed_ = mixed;
    name_ = name;
  }

  std::vector<MemoryModel> models_;
  std::optional<size_t> with_chunks_;
  uint64_t mixed_ = 0;  // bytes of its mixed chunks
  std::string name_;    // of that branch
};

// Plans for a second set of chunks while the first is mixed, so that reading never waits for
// mixing. The second set is limited to a modest total.
Result<RunnerOptions> size_chunks(const Models& models, const MemoryNeeds& needs, const SizingInput& input,
                                  uint64_t fetched, RunnerOptions options) {
  constexpr uint64_t kModest = 416 * kMiB;
  const RunShape& shape = models.with_chunks().shape();
  MemoryPlan& memory = options.memory;
  const auto threads = static_cast<uint64_t>(options.threads);
  const uint64_t batch = (needs.batch + needs.values).value(), mixed = needs.data.value();
  options.window_batches = std::clamp<int64_t>(window(options.threads, shape.rows, batch), 3, 16);
  memory.per_thread = models.thread_bytes();
  memory.window = static_cast<uint64_t>(options.window_batches) * batch;
  const uint64_t needed = needs.sum().value();
  const uint64_t busy = (threads - 1) * needs.working.value() + memory.window + kSlack;
  // Each replayed row may come from a different row group.
  const uint64_t second = sum_of_largest(needs.chunks, 2 * needs.chunks_mixed + shape.replayed_rows).value() - mixed;
  const uint64_t wanted = needed + busy + fetched + std::min(second, saturating_sub(kModest, needed + busy));
  choose_share(input, wanted, /*floor=*/0, needed, memory.share);
  // Data fetched ahead must leave free the memory in which it is decoded ahead: stored bytes alone
  // would not keep consumers from waiting.
  const uint64_t beside = saturating_sub(memory.share.wanted, mixed + memory.window + needs.index.value());
  memory.ahead =
      std::max(saturating_sub(beside, second + threads * sum_of_largest(needs.chunks, 1).value()), beside / 3);
  if (memory.share.wanted >= needed) return options;
  const uint64_t enough = memory.enough();
  return out_of_budget(
      fmt::format(
          "memory={} is too little to mix block={} row groups in {} lane{}{}: {} bytes are needed at least ({} for "
          "{} row groups, the rest to decode one and for a batch), and {} are enough for any batch; raise memory= "
          "to that, or {}",
          memory.share.wanted, shape.block, shape.lanes, shape.lanes == 1 ? "" : "s", models.of_largest(), needed,
          mixed, std::min(needs.chunks_mixed, std::ssize(needs.chunks)), enough,
          models.of_largest().empty()
              ? suggest_settings(needs.chunks, shape, saturating_sub(memory.share.wanted, needed - mixed))
              : "shuffle that part and other tables with smaller blocks"),
      enough);
}

Result<RunnerOptions> size_samples(const Models& models, const MemoryNeeds& needs, const SizingInput& input,
                                   uint64_t fetched, RunnerOptions options) {
  const int64_t rows = models.rows();
  MemoryPlan& memory = options.memory;
  const auto threads = static_cast<uint64_t>(options.threads);
  const uint64_t batch = (needs.batch + needs.values).value();
  options.window_batches = window(options.threads, rows, batch);
  const uint64_t working = threads * models.thread_bytes();
  // One batch more than the window: a batch that the user releases is reused for a later one,
  // because fresh pages would cost more than filling them.
  const uint64_t wanted = static_cast<uint64_t>(options.window_batches + 1) * batch + working + fetched + kSlack;
  const uint64_t index = needs.index.value();
  const uint64_t least = (needs.batch + needs.data + needs.index).value();
  choose_share(input, wanted, /*floor=*/least + working, least + working, memory.share);
  if (memory.share.wanted < least) {
    const uint64_t enough = memory.enough();
    return out_of_budget(
        fmt::format(
            "memory={} cannot hold one batch: {} samples need {} bytes at least, and {} are enough for any batch; "
            "raise memory= to that, or make the batch smaller",
            memory.share.wanted, rows, least, enough),
        enough);
  }
  const uint64_t with_largest = needs.batch.value() + std::max<uint64_t>(needs.largest_stored, 1) + index;
  memory.per_thread = models.thread_bytes(saturating_sub(memory.share.wanted, with_largest));
  // The memory that the batches of the window leave free. Values exist twice: by row, in the batch.
  const uint64_t window = static_cast<uint64_t>(options.window_batches) * (needs.batch + needs.values / 2).value();
  memory.ahead = saturating_sub(memory.share.wanted, window + threads * memory.per_thread + index);
  return options;
}

// Counts rows if the settings count packed blocks: a block has the mean number of rows.
RunShape shape_of(const BranchPlan& plan, const SizingInput& input, size_t branch, int threads) {
  RunShape shape = input.run;
  shape.threads = threads;
  if (branch < input.mixing.size()) {
    shape.block = input.mixing[branch].block;
    shape.lanes = input.mixing[branch].lanes;
  }
  if (!plan.packing) return shape;
  const double rows = plan.packing->sequences.pieces_per_block * static_cast<double>(shape.rows);
  shape.packed_blocks = shape.rows;
  shape.rows = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(rows)));
  return shape;
}

// Returns whether all branches that read something read from stores of this machine, at least one
// of them.
bool reads_locally(const ExecutionPlan& plan) {
  bool any = false, all = true;
  for (const auto& branch : plan.branches()) {
    for (const Store* const store : branch->stores()) {
      any = true;
      all &= store->reads_now();
    }
  }
  return any && all;
}

}  // namespace

Result<RunnerOptions> choose_sizes(const ExecutionPlan& plan, const SizingInput& input) {
  constexpr uint64_t kMaxBatch = uint64_t{1} << 56;  // a window of such batches is still a number
  FOREBAY_RETURN_IF_ERROR(check_range("threads", input.threads, kMaxThreads));
  FOREBAY_RETURN_IF_ERROR(check_range("requests", input.requests, kMaxRequests));
  FOREBAY_RETURN_IF_ERROR(check_engine("threads", input.threads, input.engine.threads));
  FOREBAY_RETURN_IF_ERROR(check_engine("memory", input.memory, input.engine.memory));
  RunnerOptions options;
  options.threads =
      input.threads.value_or(input.engine.threads.value_or(std::max(1, usable_cores() / input.local_ranks)));
  Models models;
  for (size_t branch = 0; branch < plan.size(); ++branch) {
    const BranchPlan& of = plan.branch(branch);
    models.add(MemoryModel(of, shape_of(of, input, branch, options.threads)), of);
  }
  MemoryNeeds needs = models.expected();
  if (needs.batch + needs.values > kMaxBatch) {
    return out_of_budget(
        fmt::format("one batch of {} samples takes more than 2^56 bytes; make the batch or what is in it "
                    "smaller",
                    models.rows()),
        UINT64_MAX);
  }
  const bool local = reads_locally(plan);
  const ConcurrencyLimits remote;
  options.own_threads = input.threads.has_value();
  options.local_ranks = input.local_ranks;
  options.ranks = input.ranks;
  options.requests = input.requests.value_or(local ? kLocalRequests : remote.start);
  options.find_requests = !input.requests;
  options.memory.index = needs.index.value();
  // Called only for an error, since it looks at every sample or chunk.
  options.memory.enough = [models] { return models.most().sum().value(); };
  if (!input.memory) needs.index = 0;  // not part of the share
  const int max_requests = input.requests.value_or(local ? kLocalRequests : remote.most);
  // Requests in flight, and as many that completed before their turn.
  const uint64_t fetched =
      2 * static_cast<uint64_t>(max_requests + options.threads + 1) * needs.mean_stored + 4 * needs.largest_stored;
  return models.any_with_chunks() ? size_chunks(models, needs, input, fetched, std::move(options))
                                  : size_samples(models, needs, input, fetched, std::move(options));
}

}  // namespace forebay
