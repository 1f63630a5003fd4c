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

struct Hdf5Request {
  bool is_list = false;
  std::vector<std::string> names;  ///< of a list: paths or URLs, all of one store, in which nothing is special
  std::vector<Hdf5Field> fields;
  std::optional<Hdf5Windows> windows;
};

/// Opens files as one data set: rows of their data sets, files in byte order of their keys. `at`: a pattern, a folder (*.h5, *.hdf5, …) or a file, or
/// where the first of the list is. Reads each file's metadata; nothing else is read before its rows are wanted. All files that are
/// damaged, or lack a field, are told together; fields have one type in all files.
Result<std::shared_ptr<const ChunkSource>> open_hdf5(StoreAndPath at, const Hdf5Request& request, std::stop_token stop);

}  // namespace forebay
