#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "format/files/open_store.h"

namespace forebay {

/// One file of a data set.
struct DataFile {
  std::string key;               ///< key in its store
  std::optional<uint64_t> size;  ///< empty until the store was asked
  uint64_t version = 0;          ///< version of the object; 0 if not known
};

/// The files of a data set (a table, lines, tar shards, HDF5), sorted by the bytes of their keys,
/// without duplicates.
struct DataFiles {
  std::shared_ptr<Store> store;
  /// The given folder, the folders before a pattern's first wildcard or brace, or the folders that
  /// all names of a list share. Folders below it that are called name=value are partitions. Empty
  /// or ends in '/'.
  std::string base;
  std::vector<DataFile> files;
  DataWarnings* warnings = nullptr;  ///< StoreAndPath::warnings
};

/// Says how find_data_files() reads its place.
struct DataLocation {
  bool is_list = false;
  std::vector<std::string> names;  ///< for a list: paths or URLs without special characters
  /// Name endings of the files to take from a folder: ".parquet", ….
  std::span<const std::string_view> endings;
};

/// True for names that other systems leave next to data: those that begin with '.' or '_' and have
/// no '=', and checksums (.crc).
bool is_auxiliary_name(std::string_view name);

/// Finds the files of a data set. `at` is a pattern, a folder, a file, or the place of a list's
/// first file. Waits for the listing.
///
/// A path that exists is taken literally (path_pattern.h). A folder gives all files below it that
/// end in one of the endings. Folders and patterns skip names for which is_auxiliary_name() holds,
/// unless the last name of the pattern is such a name itself. `at.warnings` collects harmless dead
/// links, circular links, and files in formats that are not read.
///
/// Errors: NotFound for a dead link that is named like a file of the data set, or that may have
/// been a folder with such files; Unsupported for folders of Delta, Iceberg and Hudi tables
/// (lake_table_detector.h).
Result<DataFiles> find_data_files(StoreAndPath at, const DataLocation& location, std::stop_token stop);

}  // namespace forebay
