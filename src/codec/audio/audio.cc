#include "codec/audio/audio.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "codec/audio/readers.h"
#include "codec/audio/tags.h"

namespace forebay {
namespace {

bool has_at(AudioBytes bytes, size_t place, std::string_view text) {
  return bytes.size() >= place + text.size() && std::memcmp(bytes.data() + place, text.data(), text.size()) == 0;
}

// A frame of layer I, II or III of MPEG 1, 2 or 2.5, with a bit rate and a sampling rate that exist.
bool is_mpeg_frame(AudioBytes bytes) {
  if (bytes.size() < 4 || bytes[0] != 0xff || (bytes[1] & 0xe0) != 0xe0) return false;
  const int version = bytes[1] >> 3 & 3, layer = bytes[1] >> 1 & 3;
  return version != 1 && layer != 0 && bytes[2] >> 4 != 15 && (bytes[2] >> 2 & 3) != 3;
}

struct Magic {
  std::string_view at_0, also, format;
  size_t also_at = 0;
};

constexpr Magic kRead[] = {{"RIFF", "WAVE", "WAV", 8},  {"RIFX", "WAVE", "WAV", 8},  {"RF64", "WAVE", "RF64", 8},
                           {"riff", "wave", "W64", 24}, {"FORM", "AIFF", "AIFF", 8}, {"FORM", "AIFC", "AIFF", 8},
                           {".snd", "", "AU"},          {"caff", "", "CAF"},         {"OggS", "", "Ogg"}};
constexpr Magic kNamed[] = {{"", "ftyp", "MP4", 4},
                            {"MThd", "", "MIDI"},
                            {"\x30\x26\xb2\x75", "", "WMA"},
                            {"\x1a\x45\xdf\xa3", "", "Matroska"},
                            {"wvpk", "", "WavPack"},
                            {"MAC ", "", "Monkey's Audio"},
                            {"#!AMR", "", "AMR"}};

template <size_t kCount>
std::string_view match(const Magic (&table)[kCount], AudioBytes bytes) {
  for (const Magic& one : table) {
    if (has_at(bytes, 0, one.at_0) && has_at(bytes, one.also_at, one.also)) return one.format;
  }
  return {};
}

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

std::string_view audio_format(AudioBytes bytes) {
  const AudioBytes body = bytes.subspan(id3_bytes(bytes));
  if (has_at(body, 0, "fLaC")) return "FLAC";
  if (is_mpeg_frame(body) || body.size() < bytes.size()) return "MP3";
  const std::string_view read = match(kRead, bytes);
  return read.empty() ? match(kNamed, bytes) : read;
}

Result<std::unique_ptr<AudioReader>> AudioReader::open(AudioBytes bytes, bool mixes) {
  if (bytes.empty()) return corrupt("the file is empty");
  const std::string_view format = audio_format(bytes);
  if (format == "FLAC") return open_flac(bytes);
  if (format == "MP3") return open_mp3(bytes, mixes);
  if (format == "Ogg") return open_ogg(bytes);
  if (!match(kRead, bytes).empty()) return open_sound_file(bytes, format);
  if (!format.empty())
    return unsupported(fmt::format("{} is not read; WAV, FLAC, MP3, Ogg, AIFF, AU and CAF are", format));
  return unsupported("no known format of sound; WAV, FLAC, MP3, Ogg, AIFF, AU and CAF are read");
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
