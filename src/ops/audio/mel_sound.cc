#include "ops/audio/mel_sound.h"

#include <fmt/format.h>

namespace forebay {

int64_t SpectraPlan::frames(int64_t samples) const {
  return samples == Shape::kUnknown || !mel.grid().fits(samples) ? Shape::kUnknown : mel.grid().frames(samples);
}

Result<std::unique_ptr<Deferred>> SpectraOfSound::of(Tensor samples, std::shared_ptr<const SpectraPlan> plan,
                                                     int step) {
  const int64_t count = samples.shape[samples.shape.rank() - 1];
  if (!plan->mel.grid().fits(count)) {
    return unsupported(
        fmt::format("{} samples are too short for frames of n_fft={}; put .pad_or_crop(seconds) before, or give {}",
                    count, plan->mel.grid().n_fft, plan->mel.grid().center ? "pad_mode=\"constant\"" : "center=True"));
  }
  return std::unique_ptr<Deferred>(std::make_unique<SpectraOfSound>(std::move(samples), std::move(plan), step));
}

Shape SpectraOfSound::shape() const {
  const int64_t frames = plan_->frames(count());
  if (samples_.shape.rank() == 1) return {plan_->rows(), frames};
  return {channels(), plan_->rows(), frames};
}

Status SpectraOfSound::write(std::span<uint8_t> out, WorkMemory& memory) {
  const StepSpan span(memory.meter(), step_);
  const MelPlan& mel = plan_->mel;
  const int64_t frames = plan_->frames(count()), kept = plan_->cepstrum ? mel.bands() * frames : 0;
  const auto scratch_bytes = static_cast<uint64_t>(mel.scratch_floats(count())) * sizeof(float);
  const uint64_t kept_bytes = static_cast<uint64_t>(kept) * sizeof(float);
  FOREBAY_RETURN_IF_ERROR(memory.reserve(scratch_bytes + kept_bytes));
  auto* const scratch = reinterpret_cast<float*>(memory.scratch(0, scratch_bytes).data());
  auto* const bands = reinterpret_cast<float*>(memory.scratch(1, kept_bytes).data());
  auto* to = reinterpret_cast<float*>(out.data());
  for (int64_t c = 0; c < channels(); ++c, to += plan_->rows() * frames) {
    mel.compute(samples_.data<float>() + c * count(), count(), plan_->cepstrum ? bands : to, scratch);
    if (plan_->cepstrum) plan_->cepstrum->compute(bands, frames, to);
  }
  memory.release(scratch_bytes + kept_bytes);
  return {};
}

}  // namespace forebay
