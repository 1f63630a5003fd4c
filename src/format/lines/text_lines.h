#pragma once

#include <memory>

#include "format/lines/line_source.h"

namespace forebay {

/// A reader that returns lines as they are. The fields are `text` and `key`, such as "emma.txt:17":
/// the path relative to the common folder of all files, and the line number. Empty lines are
/// samples. Corrupt for a line that is not UTF-8.
std::shared_ptr<const LineReader> text_line_reader();

}  // namespace forebay
