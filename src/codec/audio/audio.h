#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

/// Most channels that are taken.
constexpr int64_t kMaxAudioChannels = 64;

/// What the header of a recording says. A frame is one sample of each channel.
struct AudioInfo {
  std::string_view format;        ///< "FLAC", "MP3", "WAV", ...
  int64_t rate = 0;               ///< frames a second
  int64_t channels = 0;           ///< 1 to kMaxAudioChannels
  std::optional<int64_t> frames;  ///< unless the header does not say it
  bool mixed = false;             ///< what is given is the mean of the channels, one value a frame
  uint64_t working_bytes = 0;     ///< upper bound of what reading takes, the libraries' own memory included
};

/// Gets the frames, first to last: `count` × channels values, those of a frame side by side, valid during the call. Values of integer formats
/// lie in [-1, 1). An error ends the reading, and is what AudioReader::read() gives.
class AudioSink {
 public:
  virtual ~AudioSink() = default;
  virtual Status frames(const float* values, int64_t count) = 0;
};

/// One recording in memory: WAV (also RF64, W64), FLAC, MP3, Ogg (Vorbis, Opus, FLAC), AIFF, AU, CAF.
/// Any number of readers at once, each used by one thread. The same bytes in give the same values on every processor of an architecture: no
/// decoder is chosen by what the processor can do.
class AudioReader {
 public:
  virtual ~AudioReader() = default;
  /// Corrupt where the header is damaged, Unsupported where it is another format (named if known) or an unusual kind. `bytes` are the caller's
  /// and must outlive the reader. Takes no memory for what the header says. `mixes`: the mean of the channels is all that is wanted, and given
  /// where the decoder makes it for less (see AudioInfo::mixed).
  static Result<std::unique_ptr<AudioReader>> open(std::span<const uint8_t> bytes, bool mixes = false);

  const AudioInfo& info() const { return info_; }
  /// Gives all frames; once. Corrupt where the data is damaged or ends early, also where there are fewer or more frames than the header says;
  /// Unsupported where rate, channels or bits change on the way. After an error some frames have been given.
  Status read(AudioSink& sink);

 protected:
  virtual Status read_frames(AudioSink& sink) = 0;
  AudioInfo info_;
};

/// Counts the frames by reading all of them; stops behind `limit`.
Result<int64_t> count_audio_frames(std::span<const uint8_t> bytes, int64_t limit);

}  // namespace forebay
