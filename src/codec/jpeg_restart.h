#pragma once

#include "forebay/buffer.h"

namespace forebay {

/// Inserts a restart marker after each row of blocks of a JPEG, and merges its scans into one, so
/// that a decoder can begin at any row of blocks and decode only a crop. The coefficients, and so
/// the pixels, stay the same, as do other segments (EXIF, profiles, comments). To be sure, both
/// files are decoded and their pixels compared. Equal files give equal bytes.
///
/// Returns `file` itself if that is impossible: if it is no JPEG, is damaged, uses arithmetic
/// coding or lossless mode, or has more than 100 million pixels.
Buffer with_restart_markers(const Buffer& file);

}  // namespace forebay
