#pragma once

#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>

#include "forebay/pipeline.h"

namespace forebay {

/// `count` samples of `wide` values each, all different, since a cache stores equal ones once.
inline Pipeline numbers(int64_t count, int64_t wide = 1) {
  Tensor tensor;
  tensor.dtype = DType::kFloat32;
  tensor.shape = {count, wide};
  tensor.buffer = Buffer::allocate(static_cast<size_t>(count * wide) * sizeof(float));
  std::iota(reinterpret_cast<float*>(tensor.buffer.data()),
            reinterpret_cast<float*>(tensor.buffer.data()) + count * wide, 0.0F);
  Array array;
  array.values = tensor;
  return arrays({{"x", array}});
}

/// Work that takes long without using a core.
inline Status slow(Sample&) {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return {};
}

inline Pipeline pictures() { return images("/photos").shuffle().decode_image().resize(64).random_flip().batch(8); }

}  // namespace forebay
