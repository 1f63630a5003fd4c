#pragma once

// Support for the tests of operators on sound: fields, and steps run on one sound.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/audio/sound_test_samples.h"
#include "ops/ops_test_support.h"

namespace forebay::ops_test {

inline Tensor sound_tensor(const std::vector<float>& samples, int64_t channels = 0) {
  const auto count = static_cast<int64_t>(samples.size());
  Tensor tensor = Tensor::allocate(DType::kFloat32, channels == 0 ? Shape{count} : Shape{channels, count / channels});
  std::copy(samples.begin(), samples.end(), tensor.data<float>());
  return tensor;
}

inline Field sound_field(int64_t rate = 16000, Shape shape = {Shape::kUnknown}) {
  Field field = tensor_field("audio", DType::kFloat32, shape);
  field.sound = SoundForm::kSamples;
  field.rate = rate;
  return field;
}

inline Field spectra_field(Shape shape = {Shape::kUnknown, Shape::kUnknown}) {
  Field field = tensor_field("audio", DType::kFloat32, shape);
  field.sound = SoundForm::kSpectra;
  return field;
}

inline std::vector<float> floats(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.shape.elements()};
}

struct SoundResult {
  Status status;
  Tensor tensor;
};

/// Runs the steps on one sound.
inline SoundResult run_sound(Field field, const Tensor& sound, const std::vector<OpSpec>& steps,
                             const RunOptions& options = {}) {
  Record record = record_of(sound);
  const Status status = run(Schema({std::move(field)}), steps, record, options);
  return {status, status.ok() ? record[0].tensor : Tensor()};
}

}  // namespace forebay::ops_test
