#pragma once

#include <string>
#include <string_view>

#include "forebay/pipeline.h"
#include "forebay/result.h"

namespace forebay {

/// The whole of a small text file (up to 64 MiB); "-" is standard input.
Result<std::string> read_text(const std::string& path);

/// What messages call a file that was named on the command line.
std::string file_name(const std::string& path);

/// The pipeline that the file's text describes; errors name the file.
Result<Pipeline> read_pipeline(const std::string& path, std::string_view text);

/// Replaces the file in one step: whoever reads it, also after a kill, finds the old bytes or the new ones.
Status write_file(const std::string& path, std::string_view bytes);
/// What that would fail with, before there is anything to write.
Status check_writable(const std::string& path);

}  // namespace forebay
