// The image pass without its decoder: what one photograph of about 500 pixels costs from decoded rows to a normalised
// float picture of 224 × 224 in its slot of a batch, for each instruction set; and the passes alone.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ops/image/lazy_image.h"
#include "ops/image/simd_level.h"
#include "ops/random_resized_crop.h"

namespace forebay {
namespace {

constexpr int64_t kWidth = 500, kHeight = 375, kSide = 224;
constexpr int64_t kBatch = 64;
constexpr int64_t kCrops = 1024;

Tensor noise(int64_t height, int64_t width) {
  Tensor tensor = Tensor::allocate(DType::kUint8, {height, width, 3});
  std::mt19937 random(1);
  for (uint8_t& byte : tensor.buffer.mutable_span()) byte = static_cast<uint8_t>(random());
  return tensor;
}

std::vector<Rect> typical_crops() {
  std::vector<Rect> crops;
  for (int64_t id = 0; id < kCrops; ++id) {
    RandomStream random({.seed = 7, .epoch = 0, .id = id, .occurrence = 0}, 0);
    crops.push_back(draw_crop(kHeight, kWidth, {}, random));
  }
  return crops;
}

SimdLevel use_level(const benchmark::State& state) {
  const auto level = static_cast<SimdLevel>(state.range(0));
  set_simd_level(level);
  return simd_level();
}

void levels(benchmark::internal::Benchmark* bench) {
  bench->ArgName("simd")->Unit(benchmark::kMicrosecond);
  for (const SimdLevel level : simd_levels()) bench->Arg(static_cast<int>(level));
}

// Slots of a batch are written in turn, so the output is as cold as in a run.
template <typename Change>
void photos(benchmark::State& state, Change change) {
  state.SetLabel(std::string(simd_level_name(use_level(state))));
  const Tensor photo = noise(kHeight, kWidth);
  const std::vector<Rect> crops = typical_crops();
  Tensor batch = Tensor::allocate(DType::kFloat32, {kBatch, 3, kSide, kSide});
  const size_t slot_bytes = batch.nbytes() / kBatch;
  WorkMemory memory;
  size_t i = 0;
  for (auto _ : state) {
    auto image = LazyImage::of_pixels(photo, false);
    (void)(*image)->crop(crops[i % crops.size()], memory);
    (void)change(**image, memory);
    const size_t bytes = static_cast<size_t>((*image)->shape().elements()) * dtype_size((*image)->dtype());
    (void)(*image)->write(batch.buffer.mutable_span().subspan(i % kBatch * slot_bytes, bytes), memory);
    ++i;
  }
}

Status normalize(LazyImage& image, WorkMemory& memory) {
  constexpr float kScale[3] = {0.017124753f, 0.017507003f, 0.017429194f},
                  kBias[3] = {-2.1179039f, -2.0357141f, -1.8044444f};
  image.set_layout(true);
  return image.normalize(kScale, kBias, memory);
}

void resize_flip_normalize(benchmark::State& state) {
  photos(state, [](LazyImage& image, WorkMemory& memory) {
    FOREBAY_RETURN_IF_ERROR(image.resize(kSide, kSide, Interpolation::kBilinear, memory));
    image.flip();
    return normalize(image, memory);
  });
}

void resize_to_bytes(benchmark::State& state) {
  photos(state, [](LazyImage& image, WorkMemory& memory) {
    return image.resize(kSide, kSide, Interpolation::kBilinear, memory);
  });
}

void nearest_to_bytes(benchmark::State& state) {
  photos(state, [](LazyImage& image, WorkMemory& memory) {
    return image.resize(kSide, kSide, Interpolation::kNearest, memory);
  });
}

BENCHMARK(resize_flip_normalize)->Apply(levels);
BENCHMARK(resize_to_bytes)->Apply(levels);
BENCHMARK(nearest_to_bytes)->Apply(levels);

}  // namespace
}  // namespace forebay

BENCHMARK_MAIN();
