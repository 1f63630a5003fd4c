#pragma once

#include <vector>

#include "codec/audio/audio.h"
#include "codec/audio/rate_converter.h"

namespace forebay {

using AudioBytes = std::span<const uint8_t>;

/// The fastest of libmpg123's decoders that every processor of this architecture can run.
#if defined(__x86_64__)
inline constexpr const char* kMp3Decoder = "x86-64";
#elif defined(__aarch64__)
inline constexpr const char* kMp3Decoder = "NEON64";
#else
inline constexpr const char* kMp3Decoder = "generic";
#endif

/// The readers, one per library. Each behaves as AudioReader::open(). `format` is the name for
/// AudioInfo.
Result<std::unique_ptr<AudioReader>> open_flac(AudioBytes bytes);
Result<std::unique_ptr<AudioReader>> open_mp3(AudioBytes bytes, bool allow_mono);
Result<std::unique_ptr<AudioReader>> open_sound_file(AudioBytes bytes, std::string_view format);

Result<std::unique_ptr<AudioReader>> open_ogg(AudioBytes bytes);
/// Opens FLAC data in consecutive pieces, such as the contents of an Ogg file's pages.
Result<std::unique_ptr<AudioReader>> open_flac_pieces(std::vector<AudioBytes> pieces);

/// Implements RateConverter::create().
Result<std::unique_ptr<RateConverter>> soxr_converter(int64_t from, int64_t to, int64_t channels, AudioSink& next);

}  // namespace forebay
