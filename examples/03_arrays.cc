// Numbers instead of pictures: fits y = 3 x + 1 from arrays, a batch at a time.
//
// 03_arrays
#include <cstdio>

#include "forebay/forebay.h"

namespace fb = forebay;

struct Line {
  double slope = 0, offset = 0;

  void fit(const fb::Batch& batch, double rate) {
    const double* x = batch.find("x")->values.data<double>();
    const double* y = batch.find("y")->values.data<double>();
    double slope_gradient = 0, offset_gradient = 0;
    for (int64_t i = 0; i < batch.size(); ++i) {
      const double error = slope * x[i] + offset - y[i];
      slope_gradient += 2 * error * x[i];
      offset_gradient += 2 * error;
    }
    slope -= rate * slope_gradient / static_cast<double>(batch.size());
    offset -= rate * offset_gradient / static_cast<double>(batch.size());
  }
};

int main() {
  fb::Tensor x = fb::Tensor::allocate(fb::DType::kFloat64, {1000});
  fb::Tensor y = fb::Tensor::allocate(fb::DType::kFloat64, {1000});
  for (int i = 0; i < 1000; ++i) {
    x.data<double>()[i] = -1.0 + 2.0 * i / 999;
    y.data<double>()[i] = 3.0 * x.data<double>()[i] + 1.0;
  }

  const auto pipeline = fb::arrays({{"x", {x, ""}}, {"y", {y, ""}}}).shuffle().batch(50);
  auto loader = fb::Loader::open(pipeline, {.seed = 7, .epochs = 20});
  if (!loader.ok()) return std::fprintf(stderr, "%s\n", loader.status().to_string().c_str()), 1;

  Line line;
  for (int epoch = 0; epoch < 20; ++epoch) {
    while (true) {
      auto batch = (*loader)->next();
      if (!batch.ok()) return std::fprintf(stderr, "%s\n", batch.status().to_string().c_str()), 1;
      if (!batch->has_value()) break;
      line.fit(**batch, 0.1);
    }
    if (epoch % 5 == 4) std::printf("epoch %d: y = %.2f x + %.2f\n", epoch, line.slope, line.offset);
  }
}
