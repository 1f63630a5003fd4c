#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// A logical stream of sound in an Ogg file (RFC 3533), whole from its first page to its last one.
struct OggStream {
  enum class Codec : uint8_t { kVorbis, kOpus, kFlac };
  Codec codec = Codec::kVorbis;
  std::span<const uint8_t>
      range;  ///< from its first page to the last byte before the next stream; pages of others may lie in it
  std::vector<std::span<const uint8_t>> payloads;  ///< what its pages hold, in order: its packets end to end
};

/// The streams of sound of an Ogg file, which follow each other ("chained"). Pages of other streams that lie between (Skeleton, video)
/// are passed over. One thread; nothing is copied.
///
/// Corrupt where a page is damaged or missing, or a stream has no page that is marked as its last one: the file was cut off.
/// Unsupported for streams of sound side by side, and for codecs that are not read, by their names.
Result<std::vector<OggStream>> find_ogg_streams(std::span<const uint8_t> bytes);

}  // namespace forebay
