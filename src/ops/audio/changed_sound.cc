#include "ops/audio/changed_sound.h"

namespace forebay {

Status ChangedSound::write(std::span<uint8_t> out, WorkMemory& memory) {
  FOREBAY_RETURN_IF_ERROR(before_.write(out, memory));
  const StepSpan span(memory.meter(), step_);
  return change({reinterpret_cast<float*>(out.data()), out.size() / sizeof(float)}, memory);
}

}  // namespace forebay
