#include "ops/audio/decode_sound.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "codec/audio/audio.h"
#include "codec/audio/rate_converter.h"

namespace forebay {
namespace {

// Samples of a stored byte that are believed without counting them; speech in Opus has about 20, silence any number.
constexpr int64_t kBelievedSamplesOfByte = 64;

// What steps behind take beside the samples is asked for before they are decoded, with twice those: a task that lacks memory later begins anew, and
// decoding is the dear part.
constexpr uint64_t kBytesBehind = 1 << 18;

Status too_long(int64_t samples, const SoundWanted& wanted) {
  return unsupported(fmt::format("{} samples are more than max_samples={}; raise max_samples to decode it", samples,
                                 wanted.max_samples));
}

// Channel after channel, each from `at` on.
class PlanarSink final : public AudioSink {
 public:
  PlanarSink(Tensor& out, int64_t channels)
      : out_(out.data<float>()), channels_(channels), frames_(out.shape.elements() / channels) {}
  Status frames(const float* values, int64_t count) override {
    // A decoder that gives more than was counted must not write behind the end.
    if (count > frames_ - at_) return internal_error("more samples than there is memory for");
    for (int64_t c = 0; c < channels_; ++c) {
      float* to = out_ + c * frames_ + at_;
      for (int64_t i = 0; i < count; ++i) to[i] = values[i * channels_ + c];
    }
    at_ += count;
    return {};
  }

 private:
  float* out_;
  int64_t channels_, frames_;
  int64_t at_ = 0;
};

class MonoSink final : public AudioSink {
 public:
  MonoSink(int64_t channels, AudioSink& next) : channels_(channels), next_(next) {}
  Status frames(const float* values, int64_t count) override {
    mixed_.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      // In the order of the channels: another order rounds otherwise.
      float sum = values[i * channels_];
      for (int64_t c = 1; c < channels_; ++c) sum += values[i * channels_ + c];
      mixed_[static_cast<size_t>(i)] = sum / static_cast<float>(channels_);
    }
    return next_.frames(mixed_.data(), count);
  }

 private:
  int64_t channels_;
  AudioSink& next_;
  std::vector<float> mixed_;
};

// The header's word where its file could hold so many; else what is really there.
Result<int64_t> frames_of(const AudioInfo& info, std::span<const uint8_t> bytes, const SoundWanted& wanted) {
  // Divided, not multiplied: a header may say anything.
  const int64_t most = wanted.max_samples / info.channels;
  // Refused by its header alone, before anything of it is decoded.
  if (info.frames && *info.frames > most) return too_long(*info.frames, wanted);
  // A header may claim what its bytes cannot hold, and memory is taken by that: then it is counted.
  if (info.frames && *info.frames / kBelievedSamplesOfByte * info.channels <= static_cast<int64_t>(bytes.size()))
    return *info.frames;
  FOREBAY_ASSIGN(const int64_t counted, count_audio_frames(bytes, most));
  if (counted > most) return too_long(counted * info.channels, wanted);
  return counted;
}

Status read_into(AudioReader& reader, int64_t rate, bool mixes, int64_t channels, Tensor& out) {
  PlanarSink last(out, channels);
  AudioSink* first = &last;
  std::unique_ptr<RateConverter> converter;
  if (rate != reader.info().rate) {
    FOREBAY_ASSIGN(converter, RateConverter::create(reader.info().rate, rate, channels, last));
    first = converter.get();
  }
  // Mixed first, then converted: one channel to convert rather than all of them.
  MonoSink mono(reader.info().channels, *first);
  FOREBAY_RETURN_IF_ERROR(reader.read(mixes ? mono : *first));
  return converter ? converter->finish() : Status();
}

}  // namespace

Result<Sound> decode_sound(std::span<const uint8_t> bytes, const SoundWanted& wanted, WorkMemory& memory) {
  FOREBAY_ASSIGN(const auto reader, AudioReader::open(bytes, wanted.mono));
  const AudioInfo& info = reader->info();
  if (wanted.channels > 0 && info.channels != wanted.channels) {
    return unsupported(fmt::format("{} channels where channels={}; give mono=True, or another number", info.channels,
                                   wanted.channels));
  }
  const int64_t rate = wanted.rate > 0 ? wanted.rate : info.rate, channels = wanted.mono ? 1 : info.channels;
  const uint64_t working = info.working_bytes + (rate == info.rate ? 0 : RateConverter::working_bytes(channels));
  FOREBAY_RETURN_IF_ERROR(memory.reserve(working));
  FOREBAY_ASSIGN(int64_t frames, frames_of(info, bytes, wanted));
  if (rate != info.rate) frames = RateConverter::converted(frames, info.rate, rate);
  // Once more, as a higher rate makes more of them.
  if (frames > wanted.max_samples / channels) return too_long(frames, wanted);
  const uint64_t made_bytes = static_cast<uint64_t>(frames * channels) * sizeof(float),
                 behind = kBytesBehind + 2 * made_bytes;
  FOREBAY_RETURN_IF_ERROR(memory.reserve(made_bytes + behind));
  Sound made{Tensor::allocate(DType::kFloat32, wanted.mono ? Shape{frames} : Shape{channels, frames}), rate};
  FOREBAY_RETURN_IF_ERROR(
      read_into(*reader, rate, wanted.mono && info.channels > 1 && !info.mixed, channels, made.samples));
  // Given back, so that the steps behind find it.
  memory.release(working + behind);
  return made;
}

}  // namespace forebay
