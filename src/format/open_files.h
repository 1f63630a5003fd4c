#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/source.h"
#include "format/files/open_store.h"

namespace forebay {

/// Says if a source keeps the version of each object, which takes 8 bytes per sample. Without
/// versions Source::identity() is empty.
enum class KeepVersions : uint8_t { kNo, kYes };

/// The source of `fb.files(pattern)`: opens the files that match a pattern of `*`, `?`, `[a-z]`,
/// `**`, `{a,b}`, `{000..099}`. Waits for the listing.
///
/// The fields are `bytes` and `key`. The key is the path below the pattern's leading folders, those
/// before its first wildcard or brace. The id is the rank of the key in byte order. Hidden files do
/// not match. Every name that braces spell out in full must exist. A path that exists is taken
/// literally, whatever characters it contains (path_pattern.h).
///
/// A dead link that matches is a sample whose read is NotFound. `warnings`, if not null, receives
/// dead links to folders that might hold matches, and circular links.
///
/// Errors: NotFound, naming the nearest existing folder, if nothing matches; InvalidArgument if the
/// pattern is malformed.
Result<std::unique_ptr<Source>> open_files(std::shared_ptr<Store> store, const std::string& pattern,
                                           std::stop_token stop, KeepVersions keep_versions = KeepVersions::kNo,
                                           DataWarnings* warnings = nullptr);

/// The source of `fb.files(names)`: opens files by name, paths or URLs, all in the store of
/// `location`, whose `path` and `warnings` are not used. No character in a name is special. The id
/// is the index in the list, and the key is the path that the name has inside the store.
///
/// On a local store a missing file is an error when it is read, if others exist. Remote stores are
/// not asked about each file.
///
/// Errors: NotFound if none of the files exists on a local store; InvalidArgument for an empty list
/// or a name in another store.
Result<std::unique_ptr<Source>> open_file_list(const StoreAndPath& location, std::vector<std::string> names,
                                               std::stop_token stop, KeepVersions keep_versions = KeepVersions::kNo);

}  // namespace forebay
