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

struct LineFile {
  std::string key;  ///< in the store
  uint64_t size = 0;
  uint64_t version = 0;  ///< of the object; 0: not known
  TextForm form = {};
};

struct LineChunk {
  uint32_t file = 0;
  LineSlice slice;
};

/// Files of lines whose line ends were looked for, once: where slices of about a MiB begin, and how many rows each has; never a number for each line.
/// Immutable once made; shared by the sources that give different fields of it.
struct LineTable {
  std::shared_ptr<Store> store;
  std::string base;  ///< keys of rows are below it
  std::vector<LineFile> files;
  std::vector<LineChunk> chunks;  ///< in byte order of the files' keys, none of them without a row
  std::vector<int64_t> begins;    ///< of the chunks' ids; one more than chunks
  std::vector<bool> every_line;   ///< file → whether all of its lines are rows
  LineRows rows = LineRows::kAll;
  Hash128 version;  ///< of keys and sizes

  const LineFile& file_of(int64_t chunk) const { return files[chunks[static_cast<size_t>(chunk)].file]; }
  /// Key of the file below the base.
  std::string name(const LineFile& file) const { return file.key.substr(base.size()); }
  int64_t chunk_of(int64_t id) const;
  uint64_t index_bytes() const;
};

struct OpenLinesOptions {
  LineRows rows = LineRows::kAll;
  std::span<const std::string_view> endings;  ///< of the files of a folder
  uint64_t block_bytes = 1 << 20;
  /// Where indices of files are kept whose version is known; empty: nowhere.
  std::string index_folder = {};
};

/// "~/.cache/forebay/lines", or what the environment says in its place.
std::string default_line_index_folder();

/// Finds the files (see find_data_files), asks for the sizes that no listing gave, and reads through all whose index is not kept: many blocks at once,
/// in memory that does not grow with the files. `names`: those of a list, or else one pattern.
/// NotFound where nothing matches, and for pointers of Git LFS and the like; Unsupported for compressed files and others that are no text.
Result<std::shared_ptr<const LineTable>> open_lines(StoreAndPath at, const std::vector<std::string>& names,
                                                    bool is_list, const OpenLinesOptions& options,
                                                    std::stop_token stop);

}  // namespace forebay
