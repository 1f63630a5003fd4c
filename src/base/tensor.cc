#include "forebay/tensor.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <fmt/format.h>

#include "base/blocks.h"

namespace forebay {

namespace {
struct DTypeInfo {
  std::string_view name;
  size_t size;
};
// In the order of DType.
constexpr std::array<DTypeInfo, kDTypeCount> kDTypes = {{{"bool", 1},
                                                         {"uint8", 1},
                                                         {"int8", 1},
                                                         {"uint16", 2},
                                                         {"int16", 2},
                                                         {"uint32", 4},
                                                         {"int32", 4},
                                                         {"uint64", 8},
                                                         {"int64", 8},
                                                         {"float16", 2},
                                                         {"float32", 4},
                                                         {"float64", 8},
                                                         {"bfloat16", 2}}};
}  // namespace

size_t dtype_size(DType dtype) { return kDTypes[static_cast<size_t>(dtype)].size; }
std::string_view dtype_name(DType dtype) { return kDTypes[static_cast<size_t>(dtype)].name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

bool Shape::fully_known() const {
  for (int64_t d : *this) {
    if (d == kUnknown) return false;
  }
  return true;
}

int64_t Shape::elements() const {
  int64_t n = 1;
  // Callers that read dimensions from a file have checked their product. An unknown dimension (-1)
  // makes no sense here.
  for (int64_t d : *this) n *= d;
  return n;
}

std::string Shape::to_string() const {
  std::string text = "(";
  for (size_t i = 0; i < rank_; ++i) {
    if (i > 0) text += ", ";
    text += dims_[i] == kUnknown ? "?" : fmt::to_string(dims_[i]);
  }
  return text + (rank_ == 1 ? ",)" : ")");
}

Buffer Buffer::allocate(size_t size) {
  // Only large blocks come straight from the system: smaller ones are too frequent to pay for fresh
  // pages.
  constexpr size_t kLarge = size_t{4} << 20;
  uint8_t* block = size >= kLarge ? allocate_block(size) : allocate_on_heap(size);
  if (block == nullptr) throw std::bad_alloc();
  const auto free = [size](void* p) { size >= kLarge ? free_block(p, size) : free_on_heap(p); };
  return Buffer(block, size, std::shared_ptr<void>(block, free));
}

Tensor Tensor::allocate(DType dtype, const Shape& shape) {
  return {dtype, shape, Buffer::allocate(static_cast<size_t>(shape.elements()) * dtype_size(dtype))};
}

}  // namespace forebay
