#pragma once

#include <string>

namespace forebay {

/// xxh3-128 of a local file, by which a step knows it again. Empty where it cannot be read.
std::string file_hash(const std::string& path);

}  // namespace forebay
