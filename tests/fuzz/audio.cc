// A recording from a stranger: it is refused with a reason or decoded, to no more samples than are
// allowed, and to the same ones again.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "ops/audio/decode_sound.h"

namespace {

using namespace forebay;

constexpr int64_t kMaxSamples = 1 << 21;
constexpr uint64_t kMaxBytes = uint64_t{64} << 20;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

bool same(const Tensor& a, const Tensor& b) {
  return a.shape == b.shape && std::equal(a.buffer.data(), a.buffer.data() + a.nbytes(), b.buffer.data());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  const int64_t rate = size > 0 && data[size - 1] % 4 == 0 ? 16000 : 0;
  for (const bool mono : {true, false}) {
    WorkMemory memory(kMaxBytes), again(kMaxBytes);
    const DecodeSoundOptions wanted = {.rate = rate, .mono = mono, .max_samples = kMaxSamples};
    const auto sound = decode_sound(bytes, wanted, memory);
    if (!sound.ok()) {
      require(!sound.status().message().empty(), "a refusal has a reason");
      require(is_data_error(sound.status().code()) || sound.status().code() == Code::kOutOfBudget,
              "it is the data's fault");
      continue;
    }
    require(sound->samples.shape.elements() <= kMaxSamples, "no more samples than allowed");
    require(sound->rate > 0, "a rate");
    const auto second = decode_sound(bytes, wanted, again);
    require(second.ok() && same(sound->samples, second->samples), "the same samples again");
  }
  return 0;
}
