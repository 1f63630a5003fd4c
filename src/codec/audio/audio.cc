#include "codec/audio/audio.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/sniff.h"
#include "codec/audio/readers.h"

namespace forebay {
namespace {

/// The kinds that libsndfile reads, and what AudioInfo calls them.
struct SoundFile {
  FileKind kind;
  std::string_view name;
};
constexpr SoundFile kSoundFiles[] = {
    {FileKind::kWav, "WAV"},     {FileKind::kRf64, "RF64"},  {FileKind::kW64, "W64"}, {FileKind::kAiff, "AIFF"},
    {FileKind::kAu, "AU"},       {FileKind::kCaf, "CAF"},    {FileKind::kOgg, "Ogg"}, {FileKind::kOggVorbis, "Ogg"},
    {FileKind::kOggOpus, "Ogg"}, {FileKind::kOggFlac, "Ogg"}};

// What comes must be what was announced: no more, for which there would be no memory, and no less.
class AnnouncedFrames final : public AudioSink {
 public:
  AnnouncedFrames(AudioSink& next, std::optional<int64_t> announced) : next_(next), announced_(announced) {}
  Status frames(const float* values, int64_t count) override {
    if (announced_ && count > *announced_ - given_) {
      return corrupt(fmt::format("the header says {} samples a channel, and there are more", *announced_));
    }
    given_ += count;
    return next_.frames(values, count);
  }
  Status end() const {
    if (!announced_ || given_ == *announced_) return {};
    return corrupt(fmt::format("ends after {} of {} samples a channel", given_, *announced_));
  }

 private:
  AudioSink& next_;
  std::optional<int64_t> announced_;
  int64_t given_ = 0;
};

class CountedFrames final : public AudioSink {
 public:
  explicit CountedFrames(int64_t limit) : limit_(limit) {}
  Status frames(const float*, int64_t count) override {
    counted += count;
    // The only way to end the reading; count_audio_frames() takes it for the end.
    return counted > limit_ ? cancelled("") : Status();
  }
  int64_t counted = 0;

 private:
  int64_t limit_;
};

}  // namespace

Result<std::unique_ptr<AudioReader>> AudioReader::open(AudioBytes bytes, bool mixes) {
  const FileKind kind = sniff(bytes).kind;
  if (kind == FileKind::kFlac) return open_flac(bytes);
  if (kind == FileKind::kMp3) return open_mp3(bytes, mixes);
  const auto* const file = std::ranges::find(kSoundFiles, kind, &SoundFile::kind);
  if (file != std::end(kSoundFiles)) return open_sound_file(bytes, file->name);
  return wrong_file("a recording (WAV, FLAC, MP3, Ogg, AIFF, AU or CAF)", bytes);
}

Status AudioReader::read(AudioSink& sink) {
  AnnouncedFrames announced(sink, info_.frames);
  FOREBAY_RETURN_IF_ERROR(read_frames(announced));
  return announced.end();
}

Result<int64_t> count_audio_frames(AudioBytes bytes, int64_t limit) {
  FOREBAY_ASSIGN(const auto reader, AudioReader::open(bytes, true));
  CountedFrames counted(limit);
  Status status = reader->read(counted);
  if (!status.ok() && status.code() != Code::kCancelled) return status;
  return counted.counted;
}

}  // namespace forebay
