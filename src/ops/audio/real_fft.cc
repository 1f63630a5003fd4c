#include "ops/audio/real_fft.h"

// Its own vectors are as wide as the compiler's target; ours are the same everywhere.
#define POCKETFFT_NO_VECTORS
#define POCKETFFT_NO_MULTITHREADING
#include <pocketfft_hdronly.h>

namespace forebay {

struct RealFft::Plan {
  pocketfft::detail::pocketfft_r<float> fft;
};

RealFft::RealFft(int64_t n)
    : plan_(std::make_unique<Plan>(Plan{pocketfft::detail::pocketfft_r<float>(static_cast<size_t>(n))})) {}
RealFft::~RealFft() = default;
RealFft::RealFft(RealFft&&) noexcept = default;

void RealFft::forward(Lanes* values) const { plan_->fft.exec(values, 1.0f, true); }

}  // namespace forebay
