#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/source.h"
#include "format/files/open_store.h"

namespace forebay {

/// Files by pattern: `*`, `?`, `[a-z]`, `**`, `{a,b}`, `{000..099}`. Fields `bytes` and `key`; the key is the path
/// below the folders that the pattern begins with before its first wildcard or brace, and the id its rank in byte
/// order. Hidden files do not match. Every name that braces spell out in full must exist. A path that exists is that path, whatever
/// characters are in it (path_pattern.h). A dead link that matches is a sample whose read is NotFound; `warnings` (may be null) collects dead
/// links behind which files may have matched, and links that run in circles. `keep_versions`: for Source::identity(), eight bytes a sample.
/// NotFound where nothing matches, with the nearest folder that exists; InvalidArgument for a pattern that is none. Waits for the listing.
Result<std::unique_ptr<Source>> open_files(std::shared_ptr<Store> store, const std::string& pattern,
                                           std::stop_token stop, bool keep_versions = false,
                                           DataWarnings* warnings = nullptr);

/// Files by name (paths or URLs, all of the store `place`), nothing in the names being special: the id is the place in the list,
/// the key the name as given. A file that does not exist is found when it is read, unless none exists; remote stores are not
/// asked for each, so there it is always found when it is read.
Result<std::unique_ptr<Source>> open_file_list(StoreAndPath place, std::vector<std::string> names, std::stop_token stop,
                                               bool keep_versions = false);

}  // namespace forebay
