#pragma once

#include <memory>
#include <span>
#include <utility>

#include "base/record.h"

namespace forebay {

/// A float32 value that is written to its final place and then changed there, so operators that
/// keep the shape need no memory of their own. It belongs to one sample and is used by one thread
/// at a time.
class ChangedSound : public Deferred {
 public:
  /// `step` is the pipeline step that changes the value, for StepMeter.
  ChangedSound(Value before, int step) : before_(std::move(before)), step_(step) {}
  DType dtype() const override { return before_.dtype(); }
  Shape shape() const override { return before_.shape(); }
  Status write(std::span<uint8_t> out, WorkMemory& memory) override;

 protected:
  ChangedSound(const ChangedSound& other) : before_(other.before_.copy()), step_(other.step_) {}
  /// May use scratch memory, which it must reserve first.
  virtual Status change(std::span<float> values, WorkMemory& memory) = 0;

 private:
  Value before_;
  int step_;
};

}  // namespace forebay
