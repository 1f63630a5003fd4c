#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/hash.h"
#include "format/files/find_files.h"
#include "format/lines/text_form.h"
#include "store/store.h"

namespace forebay {

/// One file of lines, as found in its store.
struct LineFile {
  std::string key;  ///< key in the store
  uint64_t size = 0;
  uint64_t version = 0;  ///< version of the object; 0 if not known
  TextForm form = {};
};

/// A slice of a file, which is read and decoded as one chunk.
struct LineChunk {
  uint32_t file = 0;
  LineSlice slice;
};

/// Files of lines and their slices of about a MiB: where each begins and how many rows it has.
/// There is no entry per line. Immutable once made. The sources that read different fields of it
/// share it.
struct LineTable {
  std::shared_ptr<Store> store;
  std::string base;  ///< folder below which keys of rows are named
  std::vector<LineFile> files;
  std::vector<LineChunk> chunks;  ///< in byte order of the files' keys; none is empty
  std::vector<int64_t> begins;    ///< first id of each chunk, then the size
  std::vector<bool> every_line;   ///< per file: true if all of its lines are rows
  LineRows rows = LineRows::kAll;
  Hash128 version;  ///< hash of keys and sizes

  const LineFile& file_of(int64_t chunk) const { return files[chunks[static_cast<size_t>(chunk)].file]; }
  /// Key of the file relative to the base.
  std::string name(const LineFile& file) const { return file.key.substr(base.size()); }
  int64_t chunk_of(int64_t id) const;
  uint64_t index_bytes() const;
};

/// How open_lines() finds files and rows.
struct OpenLinesOptions {
  LineRows rows = LineRows::kAll;
  std::span<const std::string_view> endings;  ///< name endings of the files to take from a folder
  uint64_t block_bytes = 1 << 20;
  /// Folder for the indices of files whose version is known; empty to save none.
  std::string index_folder = {};
};

/// "~/.cache/forebay/lines", unless the environment names another folder.
std::string default_line_index_folder();

/// Finds the files (see find_data_files), asks for sizes that the listing did not give, and scans
/// all files that have no saved index, many blocks at once. Memory does not grow with the files.
/// `names` is a list, or holds one pattern.
///
/// Errors: NotFound if nothing matches, and for pointer files of Git LFS and the like; Unsupported
/// for compressed files and others that are not text.
Result<std::shared_ptr<const LineTable>> open_lines(StoreAndPath at, const std::vector<std::string>& names,
                                                    bool is_list, const OpenLinesOptions& options,
                                                    std::stop_token stop);

}  // namespace forebay
