#pragma once

#include <string>

namespace forebay {

/// The libraries that make pixels of bytes, with their versions: part of the identity of what is kept of decoded data.
std::string codec_versions();

}  // namespace forebay
