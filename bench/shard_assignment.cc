// The deal of one global batch for all its ranks: by count, and by place. Promised: 5 µs and 20 ns a row.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>

#include "plan/order.h"
#include "plan/placement.h"
#include "plan/shard_assignment.h"

namespace forebay {
namespace {

// The arguments: rows of the global batch, ranks, and ranks a host. Everything is kept somewhere, but for a tenth.
void assign_batch(benchmark::State& state, bool by_place) {
  const int64_t rows = state.range(0), world = state.range(1), size = 64 * rows;
  const std::shared_ptr<const Order> order = shuffled_order(size, 7);
  const Hosts hosts{world, state.range(2)};
  const auto placement = std::make_shared<const Placement>(
      order, PlacementOptions{.hosts = hosts, .batch_size = rows / world, .budgets = {size * 9 / 10 / hosts.count()}});
  const auto assignment = by_place ? assignment_by_locality(order, placement) : assignment_by_count();
  AssignedBatch assigned;
  int64_t step = 0;
  for (auto _ : state) {
    assignment->all({step % 64 * rows, rows, rows, world, 1 + step / 64}, &assigned);
    benchmark::DoNotOptimize(assigned.slots.data());
    ++step;
  }
  state.SetItemsProcessed(state.iterations() * rows);
  state.counters["per_row"] = benchmark::Counter(static_cast<double>(state.iterations() * rows),
                                                 benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
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

}  // namespace
}  // namespace forebay

BENCHMARK_MAIN();
