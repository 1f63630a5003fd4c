#pragma once

#include <cstdint>
#include <memory>

namespace forebay {

/// Four numbers of four frames of sound, with which the same is done at once: the arithmetic of each is the same as alone, on every processor.
using Lanes = float __attribute__((vector_size(16)));
constexpr int64_t kLanes = 4;

/// The discrete Fourier transform of n real numbers, any n >= 2. Any number of threads at once.
class RealFft {
 public:
  explicit RealFft(int64_t n);
  ~RealFft();
  RealFft(RealFft&&) noexcept;

  /// In place: re 0, re 1, im 1, re 2, im 2, ..., and where n is even at last re n/2.
  void forward(Lanes* values) const;

 private:
  struct Plan;
  std::unique_ptr<const Plan> plan_;
};

}  // namespace forebay
