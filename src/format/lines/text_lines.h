#pragma once

#include <memory>

#include "format/lines/line_source.h"

namespace forebay {

/// Lines as they are: fields `text` and `key` ("emma.txt:17", the path below what all files have in common and the number of the line). Empty lines
/// are samples. Corrupt for a line that is not UTF-8.
std::shared_ptr<const LineReader> text_line_reader();

}  // namespace forebay
