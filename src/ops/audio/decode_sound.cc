#include "ops/audio/decode_sound.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "codec/audio/audio.h"
#include "codec/audio/rate_converter.h"

namespace forebay {
namespace {

// A header may claim this many samples per stored byte without being checked by counting. Speech in
// Opus has about 20 per byte, silence any number.
constexpr int64_t kPlausibleSamplesPerByte = 64;

// Memory that later steps need in addition to twice the samples. Both are reserved before decoding,
// because a task that runs out of memory later starts over, and decoding is the expensive part.
constexpr uint64_t kLaterStepsBytes = 1 << 18;

Status too_long(int64_t samples, const DecodeSoundOptions& options) {
  return unsupported(fmt::format("{} samples are more than max_samples={}; raise max_samples to decode it", samples,
                                 options.max_samples));
}

// Writes each channel to its own row, beginning at `at_`.
class PlanarSink final : public AudioSink {
 public:
  PlanarSink(Tensor& out, int64_t channels)
      : out_(out.data<float>()), channels_(channels), frames_(out.shape.elements() / channels) {}
  Status frames(const float* values, int64_t count) override {
    // A decoder that returns more frames than were counted must not write past the end.
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
      // Adds in the order of the channels; another order rounds differently.
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

// Returns the header's number of frames if a file of this size can hold it, and counts the frames
// otherwise.
Result<int64_t> frames_of(const AudioInfo& info, std::span<const uint8_t> bytes, const DecodeSoundOptions& options) {
  // Divides instead of multiplying, because a header may contain any number.
  const int64_t most = options.max_samples / info.channels;
  // The header alone is enough to refuse the file; nothing is decoded.
  if (info.frames && *info.frames > most) return too_long(*info.frames, options);
  // A header may claim more than its bytes can hold, and the claim decides how much memory is
  // allocated. Such frames are counted.
  if (info.frames && *info.frames / kPlausibleSamplesPerByte * info.channels <= static_cast<int64_t>(bytes.size()))
    return *info.frames;
  FOREBAY_ASSIGN(const int64_t counted, count_audio_frames(bytes, most));
  if (counted > most) return too_long(counted * info.channels, options);
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
  // Mixes first and converts then, so only one channel is converted.
  MonoSink mono(reader.info().channels, *first);
  FOREBAY_RETURN_IF_ERROR(reader.read(mixes ? mono : *first));
  return converter ? converter->finish() : Status();
}

}  // namespace

Result<Sound> decode_sound(std::span<const uint8_t> bytes, const DecodeSoundOptions& options, WorkMemory& memory) {
  FOREBAY_ASSIGN(const auto reader, AudioReader::open(bytes, options.mono));
  const AudioInfo& info = reader->info();
  if (options.channels > 0 && info.channels != options.channels) {
    return unsupported(fmt::format("{} channels where channels={}; give mono=True, or another number", info.channels,
                                   options.channels));
  }
  const int64_t rate = options.rate > 0 ? options.rate : info.rate, channels = options.mono ? 1 : info.channels;
  const uint64_t working = info.working_bytes + (rate == info.rate ? 0 : RateConverter::working_bytes(channels));
  FOREBAY_RETURN_IF_ERROR(memory.reserve(working));
  FOREBAY_ASSIGN(int64_t frames, frames_of(info, bytes, options));
  if (rate != info.rate) frames = RateConverter::converted(frames, info.rate, rate);
  // Checked again, because a higher rate makes more frames.
  if (frames > options.max_samples / channels) return too_long(frames, options);
  const uint64_t made_bytes = static_cast<uint64_t>(frames * channels) * sizeof(float),
                 behind = kLaterStepsBytes + 2 * made_bytes;
  FOREBAY_RETURN_IF_ERROR(memory.reserve(made_bytes + behind));
  Sound made{Tensor::allocate(DType::kFloat32, options.mono ? Shape{frames} : Shape{channels, frames}), rate};
  FOREBAY_RETURN_IF_ERROR(
      read_into(*reader, rate, options.mono && info.channels > 1 && !info.mixed, channels, made.samples));
  // Released so that later steps can reserve it.
  memory.release(working + behind);
  return made;
}

}  // namespace forebay
