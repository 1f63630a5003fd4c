#include "codec/audio/audio.h"

#include <atomic>

#include "base/shared_module.h"
#include "codec/audio/rate_converter.h"
#include "codec/audio/sound_library.h"

namespace forebay {
namespace {

class CountedFrames final : public AudioSink {
 public:
  explicit CountedFrames(int64_t limit) : limit_(limit) {}
  Status frames(const float*, int64_t count) override {
    counted += count;
    // An error is the only way to end the reading; count_audio_frames() treats this one as the end.
    return counted > limit_ ? cancelled("") : Status();
  }
  int64_t counted = 0;

 private:
  int64_t limit_;
};

}  // namespace

Result<const SoundLibrary*> load_sound_library() {
  static std::atomic<const SoundLibrary*> loaded = nullptr;
  if (const SoundLibrary* const library = loaded) return library;
  // Two threads may do this at once, with the same result. Failures are not remembered, because the
  // module may be installed later.
  FOREBAY_ASSIGN(
      void* const function,
      function_of_module({.file = "libforebay_sound.so",
                          .function = "forebay_sound_v1",
                          .needed = "sound needs the module libforebay_sound.so, which needs libsndfile, libFLAC, "
                                    "libmpg123 and libsoxr: install libsndfile1-dev, libflac-dev, libmpg123-dev and "
                                    "libsoxr-dev, then build Forebay again if the module is missing"}));
  return loaded = reinterpret_cast<SoundLibraryEntry*>(function)();
}

Result<std::unique_ptr<AudioReader>> AudioReader::open(std::span<const uint8_t> bytes, bool allow_mono) {
  FOREBAY_ASSIGN(const SoundLibrary* const library, load_sound_library());
  return library->open(bytes, allow_mono);
}

Result<std::unique_ptr<RateConverter>> RateConverter::create(int64_t from, int64_t to, int64_t channels,
                                                             AudioSink& next) {
  FOREBAY_ASSIGN(const SoundLibrary* const library, load_sound_library());
  return library->converter(from, to, channels, next);
}

std::string sound_versions() {
  const auto library = load_sound_library();
  return library.ok() ? (*library)->versions() : "no sound";
}

Result<int64_t> count_audio_frames(std::span<const uint8_t> bytes, int64_t limit) {
  FOREBAY_ASSIGN(const auto reader, AudioReader::open(bytes, true));
  CountedFrames counted(limit);
  Status status = reader->read(counted);
  if (!status.ok() && status.code() != Code::kCancelled) return status;
  return counted.counted;
}

}  // namespace forebay
