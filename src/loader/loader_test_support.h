#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "forebay/batch.h"
#include "forebay/loader.h"
#include "forebay/pipeline.h"

namespace forebay::loader_test {

/// An array whose row i begins with the number i, followed by other numbers.
inline Array counting(int64_t rows, int64_t width = 1) {
  Tensor values = Tensor::allocate(DType::kInt64, width == 1 ? Shape{rows} : Shape{rows, width});
  for (int64_t i = 0; i < rows * width; ++i) values.data<int64_t>()[i] = i % width == 0 ? i / width : i * 1'000'003;
  return {std::move(values), ""};
}

inline std::unique_ptr<Loader> opened(const Pipeline& pipeline, LoaderOptions options = {}) {
  Result<std::unique_ptr<Loader>> loader = Loader::open(pipeline, std::move(options));
  if (!loader.ok()) throw std::runtime_error(loader.status().to_string());
  return std::move(*loader);
}

/// Returns all batches of one epoch; throws on an error.
inline std::vector<Batch> epoch_of(Loader& loader) {
  std::vector<Batch> batches;
  while (true) {
    Result<std::optional<Batch>> batch = loader.next();
    if (!batch.ok()) throw std::runtime_error(batch.status().to_string());
    if (!*batch) return batches;
    batches.push_back(std::move(**batch));
  }
}

inline std::vector<int64_t> ids_of(const std::vector<Batch>& batches) {
  std::vector<int64_t> ids;
  for (const Batch& batch : batches) ids.insert(ids.end(), batch.ids.begin(), batch.ids.end());
  return ids;
}

inline std::string digest_of(const std::vector<Batch>& batches) {
  EpochDigest digest;
  for (const Batch& batch : batches) digest.add(batch);
  return digest.to_string();
}

}  // namespace forebay::loader_test
