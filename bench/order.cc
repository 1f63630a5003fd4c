// One index of a permutation, alone (each waits for the one before) and in bulk; both directions; blockwise for
// comparison.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "plan/order.h"

namespace forebay {
namespace {

constexpr int64_t kEpoch = 3;
constexpr uint64_t kSeed = 7;

// Each call's argument comes from the last call's answer: latency, the time a lone caller waits.
void id_at(benchmark::State& state) {
  const auto order = shuffled_order(state.range(0), kSeed);
  int64_t value = state.range(0) / 2;
  for (auto _ : state) value = order->id_at(kEpoch, value);
  benchmark::DoNotOptimize(value);
}

void position_of(benchmark::State& state) {
  const auto order = shuffled_order(state.range(0), kSeed);
  int64_t value = state.range(0) / 2;
  for (auto _ : state) value = order->position_of(kEpoch, value);
  benchmark::DoNotOptimize(value);
}

void ids_in_bulk(benchmark::State& state, const Order& order) {
  std::vector<int64_t> ids(256);
  const auto count = static_cast<int64_t>(ids.size());
  int64_t begin = 0;
  for (auto _ : state) {
    order.ids_at(kEpoch, begin, ids);
    benchmark::DoNotOptimize(ids.data());
    begin = begin + 2 * count <= order.size() ? begin + count : 0;
  }
  state.SetItemsProcessed(state.iterations() * count);
  state.counters["per_id"] = benchmark::Counter(static_cast<double>(state.iterations() * count),
                                                benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void ids_at(benchmark::State& state) { ids_in_bulk(state, *shuffled_order(state.range(0), kSeed)); }

// Row groups of 10,000 rows; the arguments are how many and the lanes.
std::unique_ptr<Order> chunked(const benchmark::State& state) {
  BlockwiseOptions options;
  options.chunk_rows.assign(static_cast<size_t>(state.range(0)), 10000);
  options.lanes = state.range(1);
  options.seed = kSeed;
  return blockwise_order(options).value();
}

void blockwise_id_at(benchmark::State& state) {
  const auto order = chunked(state);
  int64_t value = order->size() / 2;
  for (auto _ : state) value = order->id_at(kEpoch, value);
  benchmark::DoNotOptimize(value);
}

void blockwise_ids_at(benchmark::State& state) { ids_in_bulk(state, *chunked(state)); }

constexpr int64_t kBillion = 1'000'000'000, kAbovePower = (int64_t{1} << 30) + 1;

BENCHMARK(id_at)->Arg(64)->Arg(2100)->Arg(1'281'167)->Arg(kBillion)->Arg(kAbovePower)->Arg(1000 * kBillion);
BENCHMARK(position_of)->Arg(64)->Arg(2100)->Arg(1'281'167)->Arg(kBillion)->Arg(kAbovePower)->Arg(1000 * kBillion);
BENCHMARK(ids_at)->Arg(64)->Arg(2100)->Arg(1'281'167)->Arg(kBillion)->Arg(kAbovePower)->Arg(1000 * kBillion);
BENCHMARK(blockwise_id_at)->Args({100, 1})->Args({100'000, 1})->Args({100'000, 16});
BENCHMARK(blockwise_ids_at)->Args({100, 1})->Args({100'000, 1})->Args({100'000, 16});

}  // namespace
}  // namespace forebay

BENCHMARK_MAIN();
