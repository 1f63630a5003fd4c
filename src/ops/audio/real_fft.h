#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace forebay {

/// Four numbers from four frames of sound that are processed together. The arithmetic of each is
/// the same as if processed alone, on every processor.
using Lanes = float __attribute__((vector_size(16)));
constexpr int64_t kLanes = 4;

/// The discrete Fourier transform of n real numbers, for any n >= 2. It is fast if n has only small
/// prime factors. Any number of threads may use one object.
class RealFft {
 public:
  explicit RealFft(int64_t n);
  ~RealFft();
  RealFft(RealFft&&) noexcept;

  /// Transforms in place to re 0, re 1, im 1, re 2, im 2, ..., and re n/2 last if n is even.
  void forward(Lanes* values) const;

 private:
  class Complex;
  void even(Lanes* values) const;
  void odd(Lanes* values) const;

  int64_t n_;
  std::unique_ptr<const Complex> complex_;  ///< n / 2 complex numbers if n is even
  std::vector<float> roots_;                ///< e^(-2 pi i k / n) for k up to n / 2, if n is even
};

}  // namespace forebay
