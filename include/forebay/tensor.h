#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "forebay/buffer.h"
#include "forebay/dtype.h"

namespace forebay {

/// Dimensions of a tensor, at most kMaxRank, stored inline. A dimension of -1 is not known yet.
class Shape {
 public:
  static constexpr size_t kMaxRank = 8;
  static constexpr int64_t kUnknown = -1;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) {
    for (int64_t d : dims) push_back(d);
  }
  explicit Shape(std::span<const int64_t> dims) {
    for (int64_t d : dims) push_back(d);
  }

  size_t rank() const { return rank_; }
  int64_t operator[](size_t i) const { return dims_[i]; }
  int64_t& operator[](size_t i) { return dims_[i]; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  /// Appends a dimension. The caller ensures that the rank stays below kMaxRank: readers of files
  /// refuse data with more dimensions.
  void push_back(int64_t dim) { dims_[rank_++] = dim; }

  bool fully_known() const;
  /// Returns the product of the dimensions (1 for a scalar). Requires fully_known().
  int64_t elements() const;
  /// Returns a text such as "(3, 224, 224)"; unknown dimensions are "?".
  std::string to_string() const;

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  std::array<int64_t, kMaxRank> dims_{};
  size_t rank_ = 0;
};

/// A dense, C-contiguous array that keeps its memory alive. Copies share the memory.
struct Tensor {
  DType dtype = DType::kUint8;
  Shape shape;
  Buffer buffer;

  size_t nbytes() const { return static_cast<size_t>(shape.elements()) * dtype_size(dtype); }
  template <typename T>
  T* data() {
    return reinterpret_cast<T*>(buffer.data());
  }
  template <typename T>
  const T* data() const {
    return reinterpret_cast<const T*>(buffer.data());
  }

  static Tensor allocate(DType dtype, const Shape& shape);
};

}  // namespace forebay
