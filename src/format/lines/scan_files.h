#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "format/lines/line_table.h"

namespace forebay {

/// Determines the form of each file and returns its slices, from a saved index or else by scanning
/// the file. Saves the new indices. Waits, so it must not be called on an engine thread. At most
/// 256 MiB are read at a time.
///
/// An error, with the file as its key, for a file that is not text (see check_text()) and for JSON
/// values that are not closed.
Result<std::vector<std::vector<LineSlice>>> scan_files(Store& store, std::span<LineFile> files,
                                                       const OpenLinesOptions& options, std::stop_token stop);

}  // namespace forebay
