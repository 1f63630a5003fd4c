#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

/// Maximum number of channels that are read.
constexpr int64_t kMaxAudioChannels = 64;

/// The header of a recording. A frame is one sample of each channel.
struct AudioInfo {
  std::string_view format;        ///< "FLAC", "MP3", "WAV", ...
  int64_t rate = 0;               ///< frames per second
  int64_t channels = 0;           ///< 1 to kMaxAudioChannels
  std::optional<int64_t> frames;  ///< nullopt if the header does not state it
  /// The reader delivers the mean of the channels, one value per frame.
  bool mixed = false;
  /// Upper bound of memory for reading, including the libraries' own.
  uint64_t working_bytes = 0;
};

/// Receives the frames in order: `count` × channels values, interleaved, valid during the call.
/// Values of integer formats lie in [-1, 1). An error ends the reading, and AudioReader::read()
/// returns it.
class AudioSink {
 public:
  virtual ~AudioSink() = default;
  virtual Status frames(const float* values, int64_t count) = 0;
};

/// Decodes one recording in memory: WAV (also RF64, W64), FLAC, MP3, Ogg (Vorbis, Opus, FLAC),
/// AIFF, AU, CAF. Each reader is used by one thread; any number of readers may run at once. The
/// same bytes give the same values on every processor of an architecture, because no decoder is
/// chosen by the processor's features.
class AudioReader {
 public:
  virtual ~AudioReader() = default;
  /// Opens a recording. `bytes` must outlive the reader. Allocates nothing whose size only the
  /// header states. `allow_mono` is true if only the mean of the channels is needed; the reader may
  /// then deliver that if it is cheaper (see AudioInfo::mixed). Corrupt if the header is damaged,
  /// Unsupported for another format (named if known) or an unusual kind.
  static Result<std::unique_ptr<AudioReader>> open(std::span<const uint8_t> bytes, bool allow_mono = false);

  const AudioInfo& info() const { return info_; }
  /// Delivers all frames to `sink`. May be called once. Corrupt if the data is damaged or ends
  /// early, or if the number of frames differs from the header. Unsupported if rate, channels or
  /// bits change within the recording. Some frames may have been delivered before an error.
  Status read(AudioSink& sink);

 protected:
  virtual Status read_frames(AudioSink& sink) = 0;
  AudioInfo info_;
};

/// Counts the frames by decoding them; stops after `limit` frames.
Result<int64_t> count_audio_frames(std::span<const uint8_t> bytes, int64_t limit);

}  // namespace forebay
