#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "codec/png_chunks.h"

namespace forebay {

/// The EXIF block (a TIFF structure) in a text chunk as ImageMagick writes it: the keyword "Raw
/// profile type exif", three lines, and hexadecimal digits below them. Returns nullopt for other
/// chunks, for damaged ones, and for more than 1 MiB of text.
std::optional<std::vector<uint8_t>> exif_in_text(const PngChunk& chunk);

}  // namespace forebay
