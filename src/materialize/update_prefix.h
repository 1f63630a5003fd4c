#pragma once

#include <optional>

#include "format/materialized/manifest.h"
#include "materialize/output_location.h"

namespace forebay {

/// Updates of data in a bucket, where nothing can be moved. The new files are written below a
/// folder of their own (MaterializedManifest::below), like a separate data set. One write of the
/// manifest then makes readers use them. The old files are deleted after that.

/// Publishes the update in `target`, the folder `below` of `location`, if it is finished. If a
/// process is killed meanwhile, the next caller completes it. Several processes may call it at
/// once.
Status publish_update(const OutputLocation& location, const OutputLocation& target, const std::string& below);

/// Deletes files that an update replaced, if the process that published it did not get to do so.
Status erase_replaced(const OutputLocation& location);

}  // namespace forebay
