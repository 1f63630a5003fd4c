// An update of data in a bucket, where nothing can be moved. The new files are written below a folder
// of their own (MaterializedManifest::below), like a separate data set. One write of the manifest
// then makes readers use them. The old files are deleted after that. update_folder.h does the same
// for a local folder.

#pragma once

#include <string>

#include "format/materialized/manifest.h"
#include "materialize/output_location.h"

namespace forebay {

/// Publishes the update in `target`, the folder `below` of `location`, and deletes the files that it
/// replaces. If the update is not finished, does nothing and returns ok. If a process is killed
/// meanwhile, the next caller completes it. Several processes may call it at once.
Status publish_bucket_update(const OutputLocation& location, const OutputLocation& target, const std::string& below);

/// Deletes files that an update replaced, if the process that published it was killed before it did.
/// Does nothing if there are none, or if the new manifest was not written yet.
Status erase_replaced(const OutputLocation& location);

}  // namespace forebay
