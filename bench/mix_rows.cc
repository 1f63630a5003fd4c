// Measures the CPU time of a row of a mix of arrays in memory, through the C++ API. Every mix has
// the same rows; each part has as many as the others, and as large a weight. To see where the
// instructions of a row go, run it under callgrind with two numbers of epochs and subtract.
//
//   bench_mix_rows [PARTS] [ROWS] [EPOCHS] [WIDTH]     (64 2097152 3 16); 0 parts are one array alone

#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "forebay/loader.h"
#include "forebay/pipeline.h"

namespace forebay {
namespace {

constexpr int64_t kBatch = 256;

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

Tensor values_of(int64_t rows, int64_t width) {
  Tensor values = Tensor::allocate(DType::kFloat32, Shape{rows, width});
  auto* const at = values.data<float>();
  for (int64_t i = 0; i < rows * width; ++i) at[i] = static_cast<float>(i);
  return values;
}

Pipeline array_of(const Tensor& values) { return arrays({{"x", {values, "", false}}}).shuffle(); }

// All parts are in the memory of one array, so that they have the same pages.
Pipeline mix_of(int64_t parts, const Tensor& all) {
  const int64_t rows = all.shape[0] / parts;
  const size_t bytes = all.buffer.size() / static_cast<size_t>(parts);
  std::vector<std::pair<std::string, Pipeline>> pipelines;
  MixSourceOptions options;
  options.samples = all.shape[0];
  for (int64_t part = 0; part < parts; ++part) {
    Tensor values = all;
    values.shape[0] = rows;
    values.buffer = all.buffer.slice(static_cast<size_t>(part) * bytes, bytes);
    pipelines.emplace_back(std::to_string(part), array_of(values));
    options.weights[std::to_string(part)] = 1;
  }
  return mix(std::move(pipelines), std::move(options));
}

// Returns the rows of an epoch, or -1 after an error.
int64_t pass(Loader& loader) {
  int64_t rows = 0;
  for (;;) {
    const Result<std::optional<Batch>> batch = loader.next();
    if (!batch.ok()) {
      std::fprintf(stderr, "%s\n", batch.status().to_string().c_str());
      return -1;
    }
    if (!*batch) return rows;
    rows += (*batch)->size();
  }
}

int run(int64_t parts, int64_t rows, int epochs, int64_t width) {
  LoaderOptions options{.seed = 7};
  options.resources.threads = 1;
  const Tensor values = values_of(rows, width);
  const Pipeline source = parts == 0 ? array_of(values) : mix_of(parts, values);
  const auto loader = Loader::open(source.batch(kBatch), options);
  if (!loader.ok()) {
    std::fprintf(stderr, "%s\n", loader.status().to_string().c_str());
    return 1;
  }
  if (pass(**loader) < 0) return 1;  // warms up
  int64_t count = 0;
  const double begun = cpu_ns();
  for (int epoch = 0; epoch < epochs; ++epoch) count += pass(**loader);
  std::printf("%lld parts: %.1f ns of CPU a row\n", static_cast<long long>(parts),
              (cpu_ns() - begun) / static_cast<double>(count));
  return 0;
}

int64_t number(int argc, char** argv, int index, int64_t otherwise) {
  return argc > index ? std::atoll(argv[index]) : otherwise;
}

}  // namespace
}  // namespace forebay

int main(int argc, char** argv) {
  using forebay::number;
  return forebay::run(number(argc, argv, 1, 64), number(argc, argv, 2, 1 << 21),
                      static_cast<int>(number(argc, argv, 3, 3)), number(argc, argv, 4, 16));
}
