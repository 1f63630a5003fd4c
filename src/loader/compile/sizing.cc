#include "loader/compile/sizing.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "loader/compile/memory_bound.h"
#include "loader/compile/packing_step.h"
#include "runtime/host.h"
#include "store/concurrency_control.h"

namespace forebay {

namespace {

constexpr int kMaxThreads = 1024, kMaxRequests = 65'536;
constexpr int kLocalRequests = 16;

struct ObjectSizes {
  uint64_t mean = 0, largest = 0;  // stored bytes of a sample
};

ObjectSizes sample_sizes(const ExecutionPlan& plan) {
  // Enough for a mean, and fast for millions of objects.
  constexpr int64_t kSampled = 512;
  const int64_t n = plan.selection->size();
  if (!plan.fetches || n == 0) return {};
  const int64_t count = std::min(n, kSampled);
  ObjectSizes sizes;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t size = plan.samples().fetch(plan.selection->id_at(i * (n / count))).size;
    sizes.mean += size;
    sizes.largest = std::max(sizes.largest, size);
  }
  sizes.mean /= static_cast<uint64_t>(count);
  return sizes;
}

// Sides, lengths and batch sizes are limited one by one, but not their product.
bool countable_batch(const ExecutionPlan& plan, int64_t rows) {
  constexpr uint64_t kMost = uint64_t{1} << 56;  // a window of such batches is still a number
  uint64_t sum = 0;
  for (const OutputField& output : plan.outputs) {
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(output.row_bytes.value_or(0), static_cast<uint64_t>(rows), &bytes) ||
        __builtin_add_overflow(sum, bytes, &sum) || sum > kMost)
      return false;
  }
  return true;
}

bool works_on_images(const ExecutionPlan& plan) {
  return !plan.stages.empty() && std::any_of(plan.outputs.begin(), plan.outputs.end(),
                                             [](const OutputField& output) { return output.field.image; });
}

// Expected bytes of one batch. A row of unknown shape is assumed to be as large as its stored
// sample.
uint64_t expected_batch_bytes(const ExecutionPlan& plan, const ObjectSizes& sizes, int64_t rows) {
  uint64_t bytes = plan.batch_bytes(rows);
  for (const OutputField& output : plan.outputs) {
    if (!output.row_bytes && output.field.kind != FieldKind::kText)
      bytes += 2 * sizes.mean * static_cast<uint64_t>(rows);
  }
  return bytes;
}

// Chooses enough batches to keep all threads busy. Small batches are cheap, so that more of them
// make up for the cost of handing one over.
int64_t window(const RunnerOptions& options, int64_t rows, uint64_t batch_bytes) {
  // Each thread has one row at work and others waiting: 4 rows a thread.
  const int64_t for_threads = (4 * options.threads + rows - 1) / rows;
  const auto small = static_cast<int64_t>(4 * kMiB / std::max<uint64_t>(batch_bytes, 1));
  return std::clamp<int64_t>(std::max(2 + for_threads, std::min<int64_t>(small, 16)), 3, 256);
}

// Memory that the batches of the window leave free. Data fetched ahead of the window comes out of
// it.
uint64_t ahead_bytes(const ExecutionPlan& plan, const RunnerOptions& options, int64_t rows, uint64_t batch_bytes) {
  const uint64_t known = plan.batch_bytes(rows);  // other fields exist twice: by row, in the batch
  const uint64_t window = static_cast<uint64_t>(options.window_batches) * (known + (batch_bytes - known) / 2) +
                          static_cast<uint64_t>(options.threads) * options.working_bytes_per_thread +
                          (options.memory_beside == 0 ? options.index_bytes : 0);
  return options.memory > window ? options.memory - window : 0;
}

// Memory in addition to what loaders share out between their tasks.
uint64_t beside_bytes(const ExecutionPlan& plan, const SizingInput& input) {
  constexpr uint64_t kIdleColumns = 32 * kMiB;  // limit of the column decoder's pool
  return input.caches + plan.source->index_bytes() + input.classes + (plan.chunks ? kIdleColumns : 0);
}

// ---- sources with chunks of many rows

struct ChunkSizes {
  std::vector<uint64_t> decoded;  // largest first
  uint64_t largest_stored = 0;
  uint64_t row_bytes = 0;  // mean bytes of a decoded row

  // Bytes of the `count` largest chunks, the worst case for as many in memory together.
  uint64_t together(int64_t count) const {
    uint64_t bytes = 0;
    for (size_t i = 0; i < decoded.size() && static_cast<int64_t>(i) < count; ++i) bytes += decoded[i];
    return bytes;
  }
};

ChunkSizes chunk_sizes(const ChunkSource& source) {
  ChunkSizes sizes;
  uint64_t total = 0;
  for (int64_t chunk = 0; chunk < source.chunks(); ++chunk) {
    const ChunkCost cost = source.chunk_cost(chunk);
    // The memory of a chunk is rounded up.
    sizes.decoded.push_back(cost.decoded_bytes + std::min<uint64_t>(cost.decoded_bytes, 64 * 1024));
    sizes.largest_stored = std::max(sizes.largest_stored, cost.fetched_bytes);
    total += cost.decoded_bytes;
  }
  std::sort(sizes.decoded.rbegin(), sizes.decoded.rend());
  sizes.row_bytes = source.size() > 0 ? total / static_cast<uint64_t>(source.size()) : 0;
  return sizes;
}

// Chunks that are mixed, and in each lane one more that is being read.
int64_t chunks_mixed(const SizingInput& input) { return input.lanes * (input.block + 1); }

// Advises settings that would fit into `bytes`.
std::string what_fits(const ChunkSizes& sizes, const SizingInput& input, uint64_t bytes) {
  SizingInput smaller = input;
  for (; smaller.block > 1; --smaller.block) {
    if (sizes.together(chunks_mixed(smaller)) <= bytes)
      return fmt::format("shuffle with block={} or less", smaller.block);
  }
  for (; smaller.lanes > 1; --smaller.lanes) {
    if (sizes.together(chunks_mixed(smaller)) <= bytes)
      return fmt::format("shuffle with block=1 and lanes={} or less", smaller.lanes);
  }
  if (sizes.together(chunks_mixed(smaller)) <= bytes) return "shuffle with block=1 and lanes=1";
  return "write the table with smaller row groups, since not even two of these fit";
}

uint64_t memory_of_engine(const SizingInput& input) {
  return input.engine.memory.value_or(usable_memory() / 4 / static_cast<uint64_t>(input.local_ranks));
}

Status check_engine(const SizingInput& input) {
  if (input.threads && input.engine.threads && *input.threads > *input.engine.threads)
    return invalid_argument(
        fmt::format("threads={} is more than the engine of this process has, {}; give less, or more to fb.engine()",
                    *input.threads, *input.engine.threads));
  if (input.memory && input.engine.memory && *input.memory > *input.engine.memory)
    return invalid_argument(
        fmt::format("memory={} is more than the engine of this process has, {}; give less, or more to fb.engine()",
                    *input.memory, *input.engine.memory));
  return {};
}

// Plans for a second set of chunks while the first is mixed, so that reading never waits for
// mixing. The second set is limited to a modest total.
Result<RunnerOptions> size_chunks(const ExecutionPlan& plan, const SizingInput& input, RunnerOptions options) {
  constexpr uint64_t kModest = 416 * kMiB;
  const ChunkSizes sizes = chunk_sizes(*plan.chunks->source);
  const auto threads = static_cast<uint64_t>(options.threads);
  const uint64_t largest = sizes.decoded.empty() ? 0 : sizes.decoded.front();
  const uint64_t batch_bytes =
      std::max(plan.batch_bytes(input.batch_size), sizes.row_bytes * static_cast<uint64_t>(input.batch_size)) +
      input.packed;
  options.window_batches = std::clamp<int64_t>(window(options, input.batch_size, batch_bytes), 3, 16);
  options.working_bytes_per_thread = 64 * 1024;
  options.window_bytes = static_cast<uint64_t>(options.window_batches) * batch_bytes;
  const uint64_t mixed = sizes.together(chunks_mixed(input));
  // A chunk exists twice while it is decoded, in addition to its stored bytes.
  const uint64_t once = largest + sizes.largest_stored + options.working_bytes_per_thread * threads + batch_bytes;
  const uint64_t index = input.memory ? options.index_bytes : 0;
  const uint64_t needed = mixed + once + index;
  const uint64_t busy = (threads - 1) * (largest + sizes.largest_stored) + options.window_bytes + 4 * kMiB;
  // Each replayed row may come from a different row group.
  const uint64_t second = sizes.together(2 * chunks_mixed(input) + input.replayed_rows) - mixed;
  const uint64_t limit = memory_of_engine(input);
  const uint64_t wanted = needed + busy + (needed + busy < kModest ? std::min(second, kModest - needed - busy) : 0);
  options.memory = input.memory.value_or(std::max(std::min(wanted, limit), std::min(needed, limit)));
  // The user set no limit, and all rows of one batch may be longer than the average.
  if (!input.memory) options.memory_together = std::max(options.memory, limit);
  options.memory_least = std::min(needed, options.memory);
  // Data fetched ahead must leave free the memory in which it is decoded ahead: stored bytes alone
  // would not keep consumers from waiting.
  const uint64_t held = mixed + options.window_bytes + index;
  const uint64_t beside = options.memory > held ? options.memory - held : 0;
  const uint64_t to_decode = second + threads * largest;
  options.ahead_bytes = std::max(beside > to_decode ? beside - to_decode : 0, beside / 3);
  if (options.memory >= needed) return options;
  const uint64_t enough = std::max(needed, options.memory_bound());
  return out_of_budget(
      fmt::format(
          "memory={} is too little to mix block={} row groups in {} lane{}: {} bytes are needed at least ({} for "
          "{} row groups, the rest to decode one and for a batch), and {} are enough for any batch; raise memory= "
          "to that, or {}",
          options.memory, input.block, input.lanes, input.lanes == 1 ? "" : "s", needed, mixed,
          std::min<int64_t>(chunks_mixed(input), static_cast<int64_t>(sizes.decoded.size())), enough,
          what_fits(sizes, input, options.memory > once + index ? options.memory - once - index : 0)),
      enough);
}

// Counts all rows of a batch: replayed rows too, and for blocks the mean number of rows in them.
SizingInput in_rows(const ExecutionPlan& plan, SizingInput input) {
  input.batch_size += input.replayed_rows;
  if (!plan.packing) return input;
  const Packing& packing = *plan.packing->blocks;
  input.packed = packed_bytes(plan, input.batch_size);
  const double rows = static_cast<double>(packing.pieces()) / static_cast<double>(std::max<int64_t>(packing.size(), 1));
  input.batch_size =
      std::max<int64_t>(1, static_cast<int64_t>(std::ceil(rows * static_cast<double>(input.batch_size))));
  return input;
}

}  // namespace

Result<RunnerOptions> choose_sizes(const ExecutionPlan& plan, const SizingInput& given) {
  const SizingInput input = in_rows(plan, given);
  if (input.threads && (*input.threads < 1 || *input.threads > kMaxThreads)) {
    return invalid_argument(
        fmt::format("threads={} is out of range; give 1 to {}, or leave it out", *input.threads, kMaxThreads));
  }
  if (input.requests && (*input.requests < 1 || *input.requests > kMaxRequests)) {
    return invalid_argument(
        fmt::format("requests={} is out of range; give 1 to {}, or leave it out", *input.requests, kMaxRequests));
  }
  FOREBAY_RETURN_IF_ERROR(check_engine(input));
  if (!countable_batch(plan, input.batch_size)) {
    return out_of_budget(
        fmt::format("one batch of {} samples takes more than 2^56 bytes; make the batch or what is in it "
                    "smaller",
                    input.batch_size),
        UINT64_MAX);
  }
  RunnerOptions options;
  const ObjectSizes sizes = sample_sizes(plan);
  options.threads =
      input.threads.value_or(input.engine.threads.value_or(std::max(1, usable_cores() / input.local_ranks)));
  const Store* const store = plan.store();
  const bool local = store != nullptr && store->reads_now();
  const ConcurrencyLimits remote;
  options.own_threads = input.threads.has_value();
  options.local_ranks = input.local_ranks;
  options.ranks = input.ranks;
  options.requests = input.requests.value_or(local ? kLocalRequests : remote.start);
  options.find_requests = !input.requests;
  options.index_bytes = plan.source->index_bytes() + input.classes;
  if (!input.memory) options.memory_beside = beside_bytes(plan, input);
  // Called only for an error, since it looks at every sample or chunk.
  options.memory_bound = [&plan, input, threads = options.threads] { return memory_bound(plan, input, threads); };
  if (plan.chunks) return size_chunks(plan, input, options);
  const int most_requests = input.requests.value_or(local ? kLocalRequests : remote.most);
  const uint64_t batch_bytes = expected_batch_bytes(plan, sizes, input.batch_size) + input.packed;
  options.window_batches = window(options, input.batch_size, batch_bytes);

  const auto threads = static_cast<uint64_t>(options.threads);
  uint64_t working = works_on_images(plan) ? 4 * kMiB : 64 * 1024;
  // Requests in flight, and as many that completed before their turn.
  const uint64_t fetched = 2 * (static_cast<uint64_t>(most_requests) + threads + 1) * sizes.mean + 4 * sizes.largest;
  // One batch more than the window: a batch that the user releases is reused for a later one,
  // because fresh pages would cost more than filling them.
  const uint64_t wanted =
      static_cast<uint64_t>(options.window_batches + 1) * batch_bytes + threads * working + fetched + 4 * kMiB;
  const uint64_t index = input.memory ? options.index_bytes : 0;
  const uint64_t least = plan.batch_bytes(input.batch_size) + input.packed + std::max<uint64_t>(sizes.mean, 1) + index;
  const uint64_t limit = memory_of_engine(input);
  options.memory = input.memory.value_or(std::max(std::min(wanted, limit), least + threads * working));
  // The user set no limit, and a decoder's need for a rare sample is not known in advance.
  if (!input.memory) options.memory_together = std::max(options.memory, limit);
  options.memory_least = std::min(least + threads * working, options.memory);
  if (options.memory < least) {
    const uint64_t enough = std::max(least, options.memory_bound());
    return out_of_budget(
        fmt::format(
            "memory={} cannot hold one batch: {} samples need {} bytes at least, and {} are enough for any batch; "
            "raise memory= to that, or make the batch smaller",
            options.memory, input.batch_size, least, enough),
        enough);
  }
  // Memory that one batch leaves free goes to data first: threads can claim working memory when
  // they need it.
  const uint64_t with_largest = plan.batch_bytes(input.batch_size) + std::max<uint64_t>(sizes.largest, 1) + index;
  const uint64_t left = options.memory > with_largest ? options.memory - with_largest : 0;
  working = std::min(working, left / 4 / threads);
  options.working_bytes_per_thread = working;
  options.ahead_bytes = ahead_bytes(plan, options, input.batch_size, batch_bytes);
  return options;
}

}  // namespace forebay
