// Operators on whole columns, in nanoseconds per value, each beside the loop that someone would write who knows the types and keeps
// no promises. Memory is recycled by the heap: giving it back to the system and taking it anew costs another nanosecond a value.

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "loader/compile/compile.h"
#include "loader/describe/check.h"
#include "pipeline/catalog.h"

namespace forebay {
namespace {

constexpr int64_t kRows = 100'000;

template <typename T>
Columns numbers(DType dtype, int64_t columns) {
  Columns made;
  made.rows = kRows;
  std::mt19937_64 random(1);
  for (int64_t c = 0; c < columns; ++c) {
    Field field;
    field.name = "c" + std::to_string(c);
    field.dtype = dtype;
    made.schema.push_back(field);
    ColumnValues column{Buffer::allocate(kRows * sizeof(T)), {}};
    auto* values = reinterpret_cast<T*>(column.values.data());
    for (int64_t i = 0; i < kRows; ++i) values[i] = static_cast<T>(random() % 1000);
    made.values.push_back(std::move(column));
  }
  return made;
}

void per_value(benchmark::State& state, int64_t values) {
  state.counters["ns/value"] = benchmark::Counter(
      static_cast<double>(values) * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void run(benchmark::State& state, const Columns& columns, const char* name, Json args) {
  if (!args.contains("field") && !args.contains("fields")) {
    args["field"] = Json::array();
    for (const Field& field : columns.schema) args["field"].push_back(field.name);
  }
  const OpSpec spec{name, std::move(args), nullptr, ""};
  auto op = catalog().find(name)->compile_columns(spec, columns.schema);
  if (!op.ok() || !*op) return state.SkipWithError("it does not compile");
  WorkMemory memory;
  for (auto _ : state) {
    Columns work = columns;
    if (!(*op)->apply(work, memory).ok()) return state.SkipWithError("it failed");
    benchmark::DoNotOptimize(work.values.front().values.data());
  }
  per_value(state, kRows * static_cast<int64_t>(columns.values.size()));
}

// `body(in, out)` for one column after the other.
template <typename In, typename Out, typename Body>
void plain(benchmark::State& state, const Columns& columns, Body body) {
  for (auto _ : state) {
    for (const ColumnValues& column : columns.values) {
      Buffer out = Buffer::allocate(kRows * sizeof(Out));
      body(reinterpret_cast<const In*>(column.values.data()), reinterpret_cast<Out*>(out.data()));
      benchmark::DoNotOptimize(out.data());
      benchmark::ClobberMemory();
    }
  }
  per_value(state, kRows * static_cast<int64_t>(columns.values.size()));
}

void cast_op(benchmark::State& state) {
  run(state, numbers<int64_t>(DType::kInt64, 8), "cast", {{"dtype", "float32"}});
}
void cast_loop(benchmark::State& state) {
  plain<int64_t, float>(state, numbers<int64_t>(DType::kInt64, 8), [](const int64_t* in, float* out) {
    for (int64_t i = 0; i < kRows; ++i) out[i] = static_cast<float>(in[i]);
  });
}
void cast_to_int_op(benchmark::State& state) {
  run(state, numbers<float>(DType::kFloat32, 8), "cast", {{"dtype", "int32"}});
}
void cast_to_int_loop(benchmark::State& state) {
  plain<float, int32_t>(state, numbers<float>(DType::kFloat32, 8), [](const float* in, int32_t* out) {
    for (int64_t i = 0; i < kRows; ++i) out[i] = static_cast<int32_t>(in[i]);
  });
}
void cast_narrow_op(benchmark::State& state) {
  run(state, numbers<int64_t>(DType::kInt64, 8), "cast", {{"dtype", "int32"}});
}
void cast_narrow_loop(benchmark::State& state) {
  plain<int64_t, int32_t>(state, numbers<int64_t>(DType::kInt64, 8), [](const int64_t* in, int32_t* out) {
    for (int64_t i = 0; i < kRows; ++i) out[i] = static_cast<int32_t>(in[i]);
  });
}

void normalize_op(benchmark::State& state) {
  run(state, numbers<float>(DType::kFloat32, 8), "normalize", {{"mean", 0.5}, {"std", 0.3}});
}
void normalize_loop(benchmark::State& state) {
  plain<float, float>(state, numbers<float>(DType::kFloat32, 8), [](const float* in, float* out) {
    for (int64_t i = 0; i < kRows; ++i) out[i] = (in[i] - 0.5f) / 0.3f;
  });
}

void clip_op(benchmark::State& state) {
  run(state, numbers<float>(DType::kFloat32, 8), "clip", {{"min", 10}, {"max", 900}});
}
void clip_loop(benchmark::State& state) {
  plain<float, float>(state, numbers<float>(DType::kFloat32, 8), [](const float* in, float* out) {
    for (int64_t i = 0; i < kRows; ++i) out[i] = std::fmin(std::fmax(in[i], 10.0f), 900.0f);
  });
}

void log1p_op(benchmark::State& state) { run(state, numbers<float>(DType::kFloat32, 8), "log1p", Json::object()); }
void log1p_loop(benchmark::State& state) {
  plain<float, float>(state, numbers<float>(DType::kFloat32, 8), [](const float* in, float* out) {
    for (int64_t i = 0; i < kRows; ++i) out[i] = std::log1p(in[i]);
  });
}
void log1p_double_op(benchmark::State& state) {
  run(state, numbers<double>(DType::kFloat64, 8), "log1p", Json::object());
}
void log1p_double_loop(benchmark::State& state) {
  plain<double, double>(state, numbers<double>(DType::kFloat64, 8), [](const double* in, double* out) {
    for (int64_t i = 0; i < kRows; ++i) out[i] = std::log1p(in[i]);
  });
}

void hash_bucket_op(benchmark::State& state) {
  run(state, numbers<int64_t>(DType::kInt64, 8), "hash_bucket", {{"buckets", 100'003}});
}
// A weaker hash, and a division.
void hash_bucket_loop(benchmark::State& state) {
  plain<int64_t, int64_t>(state, numbers<int64_t>(DType::kInt64, 8), [](const int64_t* in, int64_t* out) {
    for (int64_t i = 0; i < kRows; ++i) {
      uint64_t x = static_cast<uint64_t>(in[i]) * 0x9e3779b97f4a7c15u;
      x ^= x >> 32;
      out[i] = static_cast<int64_t>(x % 100'003);
    }
  });
}

void fill_null_op(benchmark::State& state) {
  Columns columns = numbers<float>(DType::kFloat32, 1);
  Field mask;
  mask.name = "c0_valid";
  mask.dtype = DType::kBool;
  columns.schema.push_back(mask);
  Buffer valid = Buffer::allocate(kRows);
  for (int64_t i = 0; i < kRows; ++i) valid.data()[i] = i % 7 != 0;
  columns.values.push_back({std::move(valid), {}});
  run(state, columns, "fill_null", {{"value", 1}, {"field", "c0"}});
}

template <typename T>
void stack_op(benchmark::State& state) {
  const Columns columns = numbers<T>(sizeof(T) == 4 ? DType::kFloat32 : DType::kInt64, state.range(0));
  Json fields = Json::array();
  for (const Field& field : columns.schema) fields.push_back(field.name);
  run(state, columns, "stack", {{"fields", std::move(fields)}, {"name", "x"}});
}
template <typename T>
void stack_loop(benchmark::State& state) {
  const Columns columns = numbers<T>(sizeof(T) == 4 ? DType::kFloat32 : DType::kInt64, state.range(0));
  const auto k = static_cast<int64_t>(columns.values.size());
  for (auto _ : state) {
    Buffer buffer = Buffer::allocate(static_cast<size_t>(kRows * k) * sizeof(T));
    T* out = reinterpret_cast<T*>(buffer.data());
    for (int64_t c = 0; c < k; ++c) {
      const T* in = reinterpret_cast<const T*>(columns.values[static_cast<size_t>(c)].values.data());
      for (int64_t row = 0; row < kRows; ++row) out[row * k + c] = in[row];
    }
    benchmark::DoNotOptimize(out);
    benchmark::ClobberMemory();
  }
  per_value(state, kRows * k);
}
// What no stacking can be faster than.
void stack_copy(benchmark::State& state) {
  const Columns columns = numbers<float>(DType::kFloat32, state.range(0));
  const size_t bytes = kRows * sizeof(float);
  for (auto _ : state) {
    Buffer buffer = Buffer::allocate(bytes * columns.values.size());
    for (size_t c = 0; c < columns.values.size(); ++c)
      std::memcpy(buffer.data() + c * bytes, columns.values[c].values.data(), bytes);
    benchmark::DoNotOptimize(buffer.data());
    benchmark::ClobberMemory();
  }
  per_value(state, kRows * state.range(0));
}

BENCHMARK(cast_op);
BENCHMARK(cast_loop);
BENCHMARK(cast_to_int_op);
BENCHMARK(cast_to_int_loop);
BENCHMARK(cast_narrow_op);
BENCHMARK(cast_narrow_loop);
BENCHMARK(normalize_op);
BENCHMARK(normalize_loop);
BENCHMARK(clip_op);
BENCHMARK(clip_loop);
BENCHMARK(log1p_op);
BENCHMARK(log1p_loop);
BENCHMARK(log1p_double_op);
BENCHMARK(log1p_double_loop);
BENCHMARK(hash_bucket_op);
BENCHMARK(hash_bucket_loop);
BENCHMARK(fill_null_op);
BENCHMARK_TEMPLATE(stack_op, float)->Arg(13)->Arg(40)->Arg(64);
BENCHMARK_TEMPLATE(stack_loop, float)->Arg(13)->Arg(40)->Arg(64);
BENCHMARK(stack_copy)->Arg(13)->Arg(40)->Arg(64);
BENCHMARK_TEMPLATE(stack_op, int64_t)->Arg(26);
BENCHMARK_TEMPLATE(stack_loop, int64_t)->Arg(26);

}  // namespace
}  // namespace forebay

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most it takes
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
