#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "format/objects/open_store.h"

namespace forebay {

struct TableFileEntry {
  std::string key;               ///< in its store
  std::optional<uint64_t> size;  ///< nothing where nobody has asked yet
  uint64_t version = 0;          ///< of the object; 0: not known
};

/// The files of a table, in byte order of their keys, none of them twice.
struct TableFiles {
  std::shared_ptr<Store> store;
  /// The folder that was given, or those before the first wildcard or brace, or those that all names of a list have in common:
  /// below it, folders called name=value are partitions. Empty or ends in '/'.
  std::string base;
  std::vector<TableFileEntry> files;
  DataWarnings* warnings = nullptr;  ///< StoreAndPath::warnings
};

struct TablePlace {
  bool is_list = false;
  std::vector<std::string> names;             ///< of a list: paths or URLs in which nothing is special
  std::span<const std::string_view> endings;  ///< of the files in a folder: ".parquet", …
};

/// Whether other systems leave files of that name beside their tables: it begins with '.' or '_' (and holds no '='), or is of a checksum.
bool is_aside(std::string_view name);

/// Finds the files. A path that exists is that path, whatever characters are in it (path_pattern.h). A dead link with the name of a file,
/// or of a folder that may hold some, is NotFound. Files in formats that are not read, links that
/// run in circles and other dead links go to `at.warnings`. Folders of Delta, Iceberg and Hudi tables are Unsupported: their files hold deleted rows, too
/// (lake_folders.h).
///
/// `at`: a pattern, a folder or a file, or where the first of the list is. Of a folder: all below it that end in one
/// of the endings. In folders and by patterns, names that begin with '.' or '_' are left out (unless they hold a '=', or the
/// pattern says '_'), and so are checksums (.crc): that is what other systems leave beside their files.
Result<TableFiles> find_table_files(StoreAndPath at, const TablePlace& place, std::stop_token stop);

}  // namespace forebay
