#pragma once

#include <span>

#include "forebay/status.h"
#include "format/files/find_files.h"
#include "format/webdataset/tar_index.h"

namespace forebay {

/// Adds to `files.warnings` what the shards hold beside their samples, and shards that hold none. NotFound where no shard has a sample.
/// `halves`: fields may be missing, so that samples whose files stand apart would be delivered in parts.
Status tell_left_out_members(const DataFiles& files, std::span<const TarIndex> indexes, bool halves);

}  // namespace forebay
