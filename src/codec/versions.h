#pragma once

#include <string>

namespace forebay {

/// The libraries that decode pixels, with their versions. They are part of the identity of cached
/// decoded data.
std::string codec_versions();

}  // namespace forebay
