#pragma once

#include <memory>
#include <string>

#include "base/record.h"
#include "ops/audio/cepstrum.h"
#include "ops/audio/mel_plan.h"

namespace forebay {

/// A computation on samples, frame by frame: a mel spectrogram, or its cepstrum.
struct SpectraPlan {
  explicit SpectraPlan(const MelPlan::Spec& spec) : mel(spec) {}

  MelPlan mel;
  std::unique_ptr<const Cepstrum> cepstrum;  ///< null: the mel spectrogram itself

  int64_t rows() const { return cepstrum ? cepstrum->coefficients() : mel.bands(); }
  /// Number of frames of that many samples; Shape::kUnknown if the number is unknown.
  int64_t frames(int64_t samples) const;
};

/// Spectra that are computed when they are written, directly into their final place: (rows, frames)
/// from (samples,), or (channels, rows, frames) from (channels, samples). An object belongs to one
/// sample and is used by one thread at a time.
class SpectraOfSound final : public Deferred {
 public:
  /// Unsupported if the sound is too short for one frame. `step` is the pipeline step that
  /// computes, for StepMeter.
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
