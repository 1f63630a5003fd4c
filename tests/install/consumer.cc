// Built against the installed package: reads numbers through a loader and adds them up.
#include <cstdio>

#include "forebay/diagnosis.h"
#include "forebay/forebay.h"

namespace fb = forebay;

int main() {
  fb::Tensor numbers = fb::Tensor::allocate(fb::DType::kInt64, {100});
  for (int64_t i = 0; i < 100; ++i) numbers.data<int64_t>()[i] = i;

  auto loader = fb::Loader::open(fb::arrays({{"x", {numbers, ""}}}).shuffle().batch(7), {.seed = 3, .epochs = 1});
  if (!loader.ok()) return std::fprintf(stderr, "%s\n", loader.status().to_string().c_str()), 1;

  int64_t sum = 0;
  while (true) {
    auto batch = (*loader)->next();
    if (!batch.ok()) return std::fprintf(stderr, "%s\n", batch.status().to_string().c_str()), 1;
    if (!batch->has_value()) break;
    const fb::BatchField* x = (*batch)->find("x");
    for (int64_t i = 0; i < (*batch)->size(); ++i) sum += x->values.data<int64_t>()[i];
  }
  if (fb::diagnose(fb::Pipeline(), {}).ok()) return std::fprintf(stderr, "no pipeline was diagnosed\n"), 1;
  // Asks no server yet; the module with Redis' client must be found.
  if (auto records = fb::Loader::open(fb::stream("redis://127.0.0.1:1/records").batch(1)); !records.ok())
    return std::fprintf(stderr, "%s\n", records.status().to_string().c_str()), 1;
  std::printf("sum %lld\n", static_cast<long long>(sum));
  return sum == 4950 ? 0 : 1;
}
