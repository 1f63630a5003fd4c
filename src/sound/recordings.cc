#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <mpg123.h>
#include <sndfile.h>
#include <soxr.h>

#include "base/sniff.h"
#include "codec/audio/sound_library.h"
#include "sound/readers.h"

namespace forebay {
namespace {

/// The kinds that libsndfile reads, and their names in AudioInfo.
struct SoundFile {
  FileKind kind;
  std::string_view name;
};
constexpr SoundFile kSoundFiles[] = {
    {FileKind::kWav, "WAV"},     {FileKind::kRf64, "RF64"},  {FileKind::kW64, "W64"}, {FileKind::kAiff, "AIFF"},
    {FileKind::kAu, "AU"},       {FileKind::kCaf, "CAF"},    {FileKind::kOgg, "Ogg"}, {FileKind::kOggVorbis, "Ogg"},
    {FileKind::kOggOpus, "Ogg"}, {FileKind::kOggFlac, "Ogg"}};

Result<std::unique_ptr<AudioReader>> open_recording(AudioBytes bytes, bool allow_mono) {
  const FileKind kind = sniff(bytes).kind;
  if (kind == FileKind::kFlac) return open_flac(bytes);
  if (kind == FileKind::kMp3) return open_mp3(bytes, allow_mono);
  const auto* const file = std::ranges::find(kSoundFiles, kind, &SoundFile::kind);
  if (file != std::end(kSoundFiles))
    return std::string_view(file->name) == "Ogg" ? open_ogg(bytes) : open_sound_file(bytes, file->name);
  return wrong_file("a recording (WAV, FLAC, MP3, Ogg, AIFF, AU or CAF)", bytes);
}

class LinkedSound final : public SoundLibrary {
 public:
  Result<std::unique_ptr<AudioReader>> open(AudioBytes bytes, bool allow_mono) const override {
    return open_recording(bytes, allow_mono);
  }
  Result<std::unique_ptr<RateConverter>> converter(int64_t from, int64_t to, int64_t channels,
                                                   AudioSink& next) const override {
    return soxr_converter(from, to, channels, next);
  }
  std::string versions() const override {
    return fmt::format("{} mpg123 {} {} {}", sf_version_string(), MPG123_API_VERSION, kMp3Decoder, soxr_version());
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) SoundLibraryEntry forebay_sound_v1;

const SoundLibrary* forebay_sound_v1() {
  static const LinkedSound library;
  return &library;
}

}  // namespace forebay
