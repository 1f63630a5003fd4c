#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/source.h"
#include "format/files/open_store.h"

namespace forebay {

/// Opens the files that match a pattern: `*`, `?`, `[a-z]`, `**`, `{a,b}`, `{000..099}`. Waits for
/// the listing.
///
/// The fields are `bytes` and `key`. The key is the path below the pattern's leading folders, those
/// before its first wildcard or brace. The id is the rank of the key in byte order. Hidden files do
/// not match. Every name that braces spell out in full must exist. A path that exists is taken
/// literally, whatever characters it contains (path_pattern.h).
///
/// A dead link that matches is a sample whose read is NotFound. `warnings` (may be null) collects
/// dead links to possible folders of matching files, and circular links. `keep_versions` stores
/// eight bytes per sample for Source::identity().
///
/// Errors: NotFound, naming the nearest existing folder, if nothing matches; InvalidArgument if the
/// pattern is malformed.
Result<std::unique_ptr<Source>> open_files(std::shared_ptr<Store> store, const std::string& pattern,
                                           std::stop_token stop, bool keep_versions = false,
                                           DataWarnings* warnings = nullptr);

/// Opens files by name: paths or URLs, all in the store `location`. No character in a name is
/// special. The id is the index in the list, and the key is the name as given. On a local store
/// opening fails if none of the files exists; otherwise a missing file is an error when it is read.
/// Remote stores are not asked about each file.
Result<std::unique_ptr<Source>> open_file_list(StoreAndPath location, std::vector<std::string> names,
                                               std::stop_token stop, bool keep_versions = false);

}  // namespace forebay
