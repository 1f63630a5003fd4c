#pragma once

#include <memory>

#include "base/source.h"

namespace forebay {

/// The same objects as `files` (fields `bytes` and `key`) with the bytes as a field `text`, without a byte order mark. Corrupt for an object that
/// is not UTF-8, with the place.
std::shared_ptr<const Source> text_of_files(std::shared_ptr<const Source> files);

}  // namespace forebay
