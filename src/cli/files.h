#pragma once

#include <string>
#include <string_view>

#include "forebay/pipeline.h"
#include "forebay/result.h"

namespace forebay {

/// Reads a text file of up to 64 MiB. "-" is standard input.
Result<std::string> read_text(const std::string& path);

/// Returns the name of a file for messages: the path, or a name for standard input.
std::string file_name(const std::string& path);

/// Parses the pipeline in the text of a file. Errors name the file.
Result<Pipeline> read_pipeline(const std::string& path, std::string_view text);

/// Replaces the file atomically: a reader finds the old bytes or the new ones, even after a kill.
Status write_file(const std::string& path, std::string_view bytes);
/// Returns the error that write_file() would return, before there is anything to write.
Status check_writable(const std::string& path);

}  // namespace forebay
