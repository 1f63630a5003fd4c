#pragma once

#include "codec/audio/audio.h"

namespace forebay {

using AudioBytes = std::span<const uint8_t>;

/// The readers by the library that does the work, with the meaning of AudioReader::open(). `format` is the name for AudioInfo.
Result<std::unique_ptr<AudioReader>> open_flac(AudioBytes bytes);
Result<std::unique_ptr<AudioReader>> open_mp3(AudioBytes bytes, bool mixes);
Result<std::unique_ptr<AudioReader>> open_sound_file(AudioBytes bytes, std::string_view format);

}  // namespace forebay
