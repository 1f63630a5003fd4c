#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// A complete logical audio stream of an Ogg file (RFC 3533). It refers to the file's bytes.
struct OggStream {
  enum class Codec : uint8_t { kVorbis, kOpus, kFlac };
  Codec codec = Codec::kVorbis;
  std::span<const uint8_t> range;  ///< first page to next stream, including pages of others
  /// Contents of its pages in order, which are its packets end to end.
  std::vector<std::span<const uint8_t>> payloads;
};

/// Finds the audio streams of an Ogg file, which follow each other ("chained"). Pages of other
/// streams in between (Skeleton, video) are skipped. Nothing is copied.
///
/// Corrupt if a page is damaged or missing, or if a stream has no page marked as its last, because
/// the file was truncated. Unsupported for parallel audio streams, and for codecs that are not
/// read, naming them.
Result<std::vector<OggStream>> find_ogg_streams(std::span<const uint8_t> bytes);

}  // namespace forebay
