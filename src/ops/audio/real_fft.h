#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace forebay {

/// Four numbers of four frames of sound, with which the same is done at once: the arithmetic of each is the same as alone, on every processor.
using Lanes = float __attribute__((vector_size(16)));
constexpr int64_t kLanes = 4;

/// The discrete Fourier transform of n real numbers, any n >= 2; fast where n has small prime factors only. Any number of threads at once.
class RealFft {
 public:
  explicit RealFft(int64_t n);
  ~RealFft();
  RealFft(RealFft&&) noexcept;

  /// In place: re 0, re 1, im 1, re 2, im 2, ..., and where n is even at last re n/2.
  void forward(Lanes* values) const;

 private:
  class Complex;
  void even(Lanes* values) const;
  void odd(Lanes* values) const;

  int64_t n_;
  std::unique_ptr<const Complex> complex_;  ///< of half as many where n is even
  std::vector<float> roots_;                ///< e^(-2 pi i k / n) for k up to n / 2, where n is even
};

}  // namespace forebay
