// xxh3 of 128 bits, as checksums of entries, files and messages are made: the library as distributions build it, and what is chosen for the processor.
// Pieces of 25 MB, one after the other.

#include <benchmark/benchmark.h>
#include <xxhash.h>

#include <cstdint>
#include <vector>

#include "base/hash.h"

namespace forebay {
namespace {

template <typename Hash>
void hash_pieces(benchmark::State& state, const Hash& hash) {
  const auto size = static_cast<size_t>(state.range(0));
  std::vector<uint8_t> bytes(size * (25'000'000 / size));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7);
  size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(hash(bytes.data() + at, size));
    at = at + 2 * size <= bytes.size() ? at + size : 0;
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * size));
}

void library(benchmark::State& state) {
  hash_pieces(state, [](const uint8_t* data, size_t size) { return XXH3_128bits(data, size).low64; });
}
void chosen(benchmark::State& state) {
  hash_pieces(state, [](const uint8_t* data, size_t size) { return hash128(data, size).low; });
}

BENCHMARK(library)->Arg(16)->Arg(200)->Arg(4096)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(chosen)->Arg(16)->Arg(200)->Arg(4096)->Arg(100'000)->Arg(1'000'000);

}  // namespace
}  // namespace forebay

BENCHMARK_MAIN();
