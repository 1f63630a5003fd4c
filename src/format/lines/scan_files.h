#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "format/lines/line_table.h"

namespace forebay {

/// Finds the form of each file and gives its slices: those that are kept, and of all others what reading through them says. Keeps these.
/// An error, with the file as its key, for a file that is no text (see check_text()) and for JSON values that never end.
/// Waits; never on an engine thread. At most 256 MiB are read at a time.
Result<std::vector<std::vector<LineSlice>>> scan_files(Store& store, std::span<LineFile> files,
                                                       const OpenLinesOptions& options, std::stop_token stop);

}  // namespace forebay
