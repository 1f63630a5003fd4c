#pragma once

#include <memory>
#include <span>
#include <string>

#include "codec/audio/audio.h"
#include "codec/audio/rate_converter.h"

namespace forebay {

/// The decoders and the rate converter of the module libforebay_sound.so (src/sound), which is linked
/// to the libraries that do the work. Immutable; from any thread; lives for ever.
class SoundLibrary {
 public:
  virtual ~SoundLibrary() = default;
  /// As AudioReader::open().
  virtual Result<std::unique_ptr<AudioReader>> open(std::span<const uint8_t> bytes, bool mixes) const = 0;
  /// As RateConverter::create().
  virtual Result<std::unique_ptr<RateConverter>> converter(int64_t from, int64_t to, int64_t channels,
                                                           AudioSink& next) const = 0;
  /// The libraries whose results may differ from version to version.
  virtual std::string versions() const = 0;
};

/// What the module gives out, as forebay_sound_v1. The number changes whenever one of the types in
/// this file, audio.h or rate_converter.h does.
using GiveSoundLibrary = const SoundLibrary*();

/// Loads the module at the first call. Unsupported, with its name and the way out, where it or one of
/// its libraries is missing. From any thread.
Result<const SoundLibrary*> load_sound_library();

/// SoundLibrary::versions(): part of the identity of what is kept of decoded sound.
std::string sound_versions();

}  // namespace forebay
