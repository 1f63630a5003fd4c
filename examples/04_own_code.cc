// Your own C++ as a step: called by the engine's threads, any number at a time.
//
// 04_own_code
#include <cstdio>

#include "forebay/forebay.h"

namespace fb = forebay;

/// Adds the field `square`; what was there stays.
static fb::Status add_square(fb::Sample& sample) {
  const int64_t n = sample.at("n").data<int64_t>()[0];
  fb::Tensor square = fb::Tensor::allocate(fb::DType::kFloat64, {});
  square.data<double>()[0] = static_cast<double>(n * n);
  sample["square"] = square;
  return {};
}

int main() {
  fb::Tensor numbers = fb::Tensor::allocate(fb::DType::kInt64, {10});
  for (int64_t i = 0; i < 10; ++i) numbers.data<int64_t>()[i] = i;

  const auto pipeline = fb::arrays({{"n", {numbers, ""}}})
                            .map(add_square, {.fields = {}, .adds = {"square"}, .name = "add_square"})
                            .batch(5);
  auto loader = fb::Loader::open(pipeline, {.epochs = 1});
  if (!loader.ok()) return std::fprintf(stderr, "%s\n", loader.status().to_string().c_str()), 1;

  while (true) {
    auto batch = (*loader)->next();
    if (!batch.ok()) return std::fprintf(stderr, "%s\n", batch.status().to_string().c_str()), 1;
    if (!batch->has_value()) return 0;
    const int64_t* n = (*batch)->find("n")->values.data<int64_t>();
    const double* square = (*batch)->find("square")->values.data<double>();
    for (int64_t i = 0; i < (*batch)->size(); ++i) {
      std::printf("%lld squared is %.0f\n", static_cast<long long>(n[i]), square[i]);
    }
  }
}
