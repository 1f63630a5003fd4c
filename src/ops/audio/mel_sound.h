#pragma once

#include <memory>
#include <string>

#include "base/record.h"
#include "ops/audio/cepstrum.h"
#include "ops/audio/mel_plan.h"

namespace forebay {

/// What is made of samples frame by frame: a mel spectrogram, or its cepstrum.
struct SpectraPlan {
  explicit SpectraPlan(const MelPlan::Spec& spec) : mel(spec) {}

  MelPlan mel;
  std::unique_ptr<const Cepstrum> cepstrum;  ///< null: the mel spectrogram itself

  int64_t rows() const { return cepstrum ? cepstrum->coefficients() : mel.bands(); }
  /// Of so many samples; Shape::kUnknown where that is unknown.
  int64_t frames(int64_t samples) const;
};

/// Spectra that are computed when they are written, straight into their place: (rows, frames) of (samples,), (channels, rows, frames) of
/// (channels, samples). Belongs to one sample and one thread at a time.
class SpectraOfSound final : public Deferred {
 public:
  /// Unsupported where the sound is too short for a frame. `step` is the one that computes, for StepMeter.
  static Result<std::unique_ptr<Deferred>> of(Tensor samples, std::shared_ptr<const SpectraPlan> plan, int step);
  DType dtype() const override { return DType::kFloat32; }
  Shape shape() const override;
  Status write(std::span<uint8_t> out, WorkMemory& memory) override;
  std::unique_ptr<Deferred> clone() const override { return std::make_unique<SpectraOfSound>(*this); }

  SpectraOfSound(Tensor samples, std::shared_ptr<const SpectraPlan> plan, int step)
      : samples_(std::move(samples)), plan_(std::move(plan)), step_(step) {}

 private:
  int64_t channels() const { return samples_.shape.rank() == 2 ? samples_.shape[0] : 1; }
  int64_t count() const { return samples_.shape[samples_.shape.rank() - 1]; }

  Tensor samples_;
  std::shared_ptr<const SpectraPlan> plan_;
  int step_;
};

}  // namespace forebay
