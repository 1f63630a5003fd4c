#pragma once

#include <string>

namespace forebay {

/// Returns the xxh3-128 of a local file, which identifies its content in a step. Empty if the file
/// cannot be read.
std::string file_hash(const std::string& path);

}  // namespace forebay
