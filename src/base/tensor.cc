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
constexpr std::array<DTypeInfo, 12> kDTypes = {{{"bool", 1},
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
                                                {"float64", 8}}};
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
  constexpr size_t kAlign = 64, kLarge = size_t{4} << 20;  // smaller ones come too often to pay for fresh pages
  if (size >= kLarge) {
    uint8_t* block = allocate_block(size);
    if (block == nullptr) throw std::bad_alloc();
    return Buffer(block, size, std::shared_ptr<void>(block, [size](void* p) { free_block(p, size); }));
  }
  // Aligned here and not by aligned_alloc(): that of glibc before 2.38 never takes a free place of just that size, so the heap of a process
  // that keeps some buffers and lets others of their size go was twice as large as what was in it.
  void* memory = size > SIZE_MAX - 2 * kAlign ? nullptr : std::malloc(size + 2 * kAlign);
  if (memory == nullptr) throw std::bad_alloc();
  auto* aligned = static_cast<uint8_t*>(memory) + (kAlign - reinterpret_cast<uintptr_t>(memory) % kAlign) % kAlign;
  return Buffer(aligned, size, std::shared_ptr<void>(memory, std::free));
}

Tensor Tensor::allocate(DType dtype, const Shape& shape) {
  return {dtype, shape, Buffer::allocate(static_cast<size_t>(shape.elements()) * dtype_size(dtype))};
}

}  // namespace forebay
