#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/chunk_source.h"
#include "format/files/open_store.h"
#include "format/hdf5/column.h"

namespace forebay {

/// The files to open, and the fields and windows to read from each.
struct Hdf5Request {
  bool is_list = false;
  /// For a list: paths or URLs, all in one store; no character is special.
  std::vector<std::string> names;
  std::vector<Hdf5Field> fields;
  std::optional<Hdf5Windows> windows;
};

/// Opens files as one data set. Its samples are the rows of the files' data sets, with the files in
/// byte order of their keys. `at` is a pattern, a folder (*.h5, *.hdf5, …), a file, or the place of
/// a list's first file. Opening reads only each file's metadata. One error reports all files that
/// are damaged or lack a field. A field must have the same type in all files.
Result<std::shared_ptr<const ChunkSource>> open_hdf5(StoreAndPath at, const Hdf5Request& request, std::stop_token stop);

}  // namespace forebay
