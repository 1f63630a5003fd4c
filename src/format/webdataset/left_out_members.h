#pragma once

#include <span>

#include "forebay/status.h"
#include "format/files/find_files.h"
#include "format/webdataset/tar_index.h"

namespace forebay {

/// Adds to `files.warnings` the members that belong to no sample, and the shards without samples.
/// NotFound if no shard has a sample. `count_split_samples` is true if fields may be missing, so
/// that a sample whose files are not consecutive would be delivered in parts.
Status warn_left_out_members(const DataFiles& files, std::span<const TarIndex> indexes, bool count_split_samples);

}  // namespace forebay
