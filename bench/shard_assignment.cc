// Measures how long it takes to divide one global batch among all its ranks: by count, by locality,
// and by the homes of the samples of a mix. It should take at most 5 µs and 20 ns a row.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "plan/node.h"
#include "plan/order.h"
#include "plan/placement.h"
#include "plan/sample_home.h"
#include "plan/shard_assignment.h"

namespace forebay {
namespace {

// Deals the batches of one epoch after the other; an epoch has 64 of them.
void deal(benchmark::State& state, const ShardAssignment& assignment) {
  const int64_t rows = state.range(0), world = state.range(1);
  AssignedBatch assigned;
  int64_t step = 0;
  for (auto _ : state) {
    assignment.all({step % 64 * rows, rows, rows, world, 1 + step / 64}, &assigned);
    benchmark::DoNotOptimize(assigned.slots.data());
    ++step;
  }
  state.SetItemsProcessed(state.iterations() * rows);
  state.counters["per_row"] = benchmark::Counter(static_cast<double>(state.iterations() * rows),
                                                 benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// The arguments are the rows of the global batch, the ranks, and the ranks of a host. Hosts cache all
// samples but a tenth.
void assign_batch(benchmark::State& state, bool by_place) {
  const int64_t rows = state.range(0), world = state.range(1), size = 64 * rows;
  const std::shared_ptr<const Order> order = shuffled_order(size, 7);
  const Hosts hosts{world, state.range(2)};
  const auto placement = std::make_shared<const Placement>(
      order, PlacementOptions{.hosts = hosts, .batch_size = rows / world, .budgets = {size * 9 / 10 / hosts.count()}});
  deal(state, by_place ? *assignment_by_locality(order, placement) : *assignment_by_count());
}

// A mix of eight data sets with equal weights.
void by_home(benchmark::State& state) {
  const int64_t size = 64 * state.range(0);
  std::vector<std::unique_ptr<PlanNode>> parts;
  for (uint64_t seed = 0; seed < 8; ++seed) parts.push_back(leaf_node(shuffled_order(size, seed)));
  const std::shared_ptr<const PlanNode> plan =
      std::move(*mix_node(std::move(parts), {.seed = 9, .stages = {{0, std::vector<double>(8, 1)}}, .samples = size}));
  deal(state, *assignment_by_home(plan, state.range(2)));
}

void by_count(benchmark::State& state) { assign_batch(state, false); }
void by_place(benchmark::State& state) { assign_batch(state, true); }

BENCHMARK(by_count)->Args({32768, 1024, 4})->Unit(benchmark::kMicrosecond);
BENCHMARK(by_place)
    ->Args({256, 4, 1})
    ->Args({256, 8, 8})
    ->Args({2048, 64, 4})
    ->Args({32768, 1024, 1})
    ->Args({32768, 1024, 4})
    ->Args({131072, 1024, 4})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(by_home)->Args({256, 4, 1})->Args({2048, 64, 4})->Args({32768, 1024, 4})->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace forebay

BENCHMARK_MAIN();
