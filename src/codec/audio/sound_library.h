#pragma once

#include <memory>
#include <span>
#include <string>

#include "codec/audio/audio.h"
#include "codec/audio/rate_converter.h"

namespace forebay {

/// The decoders and the rate converter in the module libforebay_sound.so (src/sound), which links
/// the audio libraries. Immutable; any thread may use it. The object is never destroyed.
class SoundLibrary {
 public:
  virtual ~SoundLibrary() = default;
  /// Does what AudioReader::open() says.
  virtual Result<std::unique_ptr<AudioReader>> open(std::span<const uint8_t> bytes, bool allow_mono) const = 0;
  /// Does what RateConverter::create() says.
  virtual Result<std::unique_ptr<RateConverter>> converter(int64_t from, int64_t to, int64_t channels,
                                                           AudioSink& next) const = 0;
  /// Versions of the libraries and the MP3 decoder of this architecture: results may differ from
  /// version to version, and from architecture to architecture.
  virtual std::string versions() const = 0;
};

/// Type of the module's entry point, forebay_sound_v1. The number changes whenever a type in this
/// file, audio.h or rate_converter.h changes.
using SoundLibraryEntry = const SoundLibrary*();

/// Loads the module on the first call. Unsupported, with its name and a remedy, if the module or
/// one of its libraries is missing. Any thread may call it.
Result<const SoundLibrary*> load_sound_library();

/// SoundLibrary::versions(), which is part of the identity of cached decoded sound.
std::string sound_versions();

}  // namespace forebay
