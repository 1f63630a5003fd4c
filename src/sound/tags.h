#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay {

/// Total size of the tags at the end of a recording, in any order: ID3v1 (also extended), ID3v2
/// with a footer, Lyrics3, APE.
size_t tail_tag_bytes(std::span<const uint8_t> bytes);

}  // namespace forebay
