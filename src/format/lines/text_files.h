#pragma once

#include <memory>

#include "base/source.h"

namespace forebay {

/// Wraps `files` (fields `bytes` and `key`) so that the bytes become the field `text`, without a
/// byte-order mark. Corrupt, with the position, for an object that is not UTF-8.
std::shared_ptr<const Source> text_of_files(std::shared_ptr<const Source> files);

}  // namespace forebay
