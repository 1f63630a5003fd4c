#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "format/lines/line_table.h"

namespace forebay {

/// The slices of each file: those that are kept, and of all others what reading through them says. Keeps these.
/// Waits; never on an engine thread. At most 256 MiB are read at a time.
Result<std::vector<std::vector<LineSlice>>> scan_files(Store& store, std::span<const LineFile> files,
                                                       const OpenLinesOptions& options, std::stop_token stop);

}  // namespace forebay
