#include "loader/sizing.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/host.h"
#include "store/concurrency_control.h"

namespace forebay {

namespace {

constexpr int kMaxThreads = 1024, kMaxRequests = 65'536;
constexpr int kLocalRequests = 16;
constexpr uint64_t kMiB = uint64_t{1} << 20;

struct ObjectSizes {
  uint64_t mean = 0, largest = 0;  // of a sample of the data set
};

ObjectSizes sample_sizes(const ExecutionPlan& plan) {
  constexpr int64_t kSampled = 512;
  const int64_t n = plan.selection->size();
  if (!plan.fetches || n == 0) return {};
  const int64_t count = std::min(n, kSampled);
  ObjectSizes sizes;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t size = plan.source->fetch(plan.selection->id_at(i * (n / count))).size;
    sizes.mean += size;
    sizes.largest = std::max(sizes.largest, size);
  }
  sizes.mean /= static_cast<uint64_t>(count);
  return sizes;
}

bool works_on_images(const ExecutionPlan& plan) {
  return !plan.stages.empty() && std::any_of(plan.outputs.begin(), plan.outputs.end(),
                                             [](const OutputField& output) { return output.field.image; });
}

// Bytes of one batch with what is known: rows of unknown shape are taken to be as large as what they are made from.
uint64_t expected_batch_bytes(const ExecutionPlan& plan, const ObjectSizes& sizes, int64_t rows) {
  uint64_t bytes = plan.batch_bytes(rows);
  for (const OutputField& output : plan.outputs) {
    if (!output.row_bytes && output.field.kind != FieldKind::kText)
      bytes += 2 * sizes.mean * static_cast<uint64_t>(rows);
  }
  return bytes;
}

// Enough batches to keep all threads busy; small ones are cheap, so that a hand-over is worth its while.
int64_t window(const RunnerOptions& options, int64_t rows, uint64_t batch_bytes) {
  const int64_t for_threads = (4 * options.threads + rows - 1) / rows;
  const auto small = static_cast<int64_t>(4 * kMiB / std::max<uint64_t>(batch_bytes, 1));
  return std::clamp<int64_t>(std::max(2 + for_threads, std::min<int64_t>(small, 16)), 3, 256);
}

// What is left beside the window's batches: whatever is fetched ahead of it comes out of that.
uint64_t ahead_bytes(const ExecutionPlan& plan, const RunnerOptions& options, int64_t rows, uint64_t batch_bytes) {
  const uint64_t known = plan.batch_bytes(rows);  // the rest exists twice: row by row, then put together
  const uint64_t window = static_cast<uint64_t>(options.window_batches) * (known + (batch_bytes - known) / 2) +
                          static_cast<uint64_t>(options.threads) * options.working_bytes_per_thread;
  return options.memory > window ? options.memory - window : 0;
}

}  // namespace

Result<RunnerOptions> choose_sizes(const ExecutionPlan& plan, const SizingInput& input) {
  if (input.threads && (*input.threads < 1 || *input.threads > kMaxThreads)) {
    return invalid_argument(
        fmt::format("threads={} is out of range; give 1 to {}, or leave it out", *input.threads, kMaxThreads));
  }
  if (input.requests && (*input.requests < 1 || *input.requests > kMaxRequests)) {
    return invalid_argument(
        fmt::format("requests={} is out of range; give 1 to {}, or leave it out", *input.requests, kMaxRequests));
  }
  RunnerOptions options;
  const ObjectSizes sizes = sample_sizes(plan);
  options.threads = input.threads.value_or(std::max(1, usable_cores() / input.local_ranks));
  const bool local =
      plan.fetches && plan.selection->size() > 0 && plan.source->fetch(plan.selection->id_at(0)).store->reads_now();
  const ConcurrencyLimits remote;
  options.requests = input.requests.value_or(local ? kLocalRequests : remote.start);
  options.find_requests = !input.requests;
  const int most_requests = input.requests.value_or(local ? kLocalRequests : remote.most);
  const uint64_t batch_bytes = expected_batch_bytes(plan, sizes, input.batch_size);
  options.window_batches = window(options, input.batch_size, batch_bytes);

  const auto threads = static_cast<uint64_t>(options.threads);
  uint64_t working = works_on_images(plan) ? 4 * kMiB : 64 * 1024;
  // Those in flight, and as many that came back before their turn.
  const uint64_t fetched = 2 * (static_cast<uint64_t>(most_requests) + threads + 1) * sizes.mean + 4 * sizes.largest;
  const uint64_t wanted =
      static_cast<uint64_t>(options.window_batches) * batch_bytes + threads * working + fetched + 4 * kMiB;
  const uint64_t least = plan.batch_bytes(input.batch_size) + std::max<uint64_t>(sizes.mean, 1);
  const uint64_t limit = usable_memory() / 4 / static_cast<uint64_t>(input.local_ranks);
  options.memory = input.memory.value_or(std::max(std::min(wanted, limit), least + threads * working));
  // Nobody asked for less, and what a decoder will need of a rare sample is not known before.
  if (!input.memory) options.memory_most = std::max(options.memory, limit);
  if (options.memory < least) {
    return out_of_budget(
        fmt::format("memory={} cannot hold one batch: {} samples need {} bytes; raise memory= to {} or more, or make "
                    "the batch smaller",
                    options.memory, input.batch_size, least, wanted),
        least);
  }
  // What little is left beside a batch goes to data first: working memory can be asked for when it is needed.
  const uint64_t with_largest = plan.batch_bytes(input.batch_size) + std::max<uint64_t>(sizes.largest, 1);
  const uint64_t left = options.memory > with_largest ? options.memory - with_largest : 0;
  working = std::min(working, left / 4 / threads);
  options.working_bytes_per_thread = working;
  options.ahead_bytes = ahead_bytes(plan, options, input.batch_size, batch_bytes);
  return options;
}

}  // namespace forebay
