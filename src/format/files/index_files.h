#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace forebay {

/// A kind of index file. Each file saves the result of reading an object or listing a folder, so
/// that a later opening need not read it again.
struct IndexKind {
  /// Written to each file's header; also the extension of the file names, such as "….lines".
  std::string_view name;
  uint64_t most_bytes;  ///< larger files are neither written nor read
  size_t max_files;     ///< limit per folder; the least recently used files are removed
};

/// The result of loading an index file.
struct LoadedIndex {
  enum class State {
    kMissing,
    kDamaged,  ///< or written by another version, or not an index of this kind
    kStale,    ///< made from something other than `identity`
    kFound,
  };
  State state = State::kMissing;
  std::string payload;  ///< empty unless kFound
};

/// Reads an index file. `identity` says what the index was made from. The payload is exactly what
/// was saved. The checksum detects damage but not malice, so callers check every number in the
/// payload before they use it.
LoadedIndex load_index_file(const IndexKind& kind, const std::string& path, std::string_view identity);

/// Replaces an index file atomically: readers, and other processes that save the same file, see one
/// whole file or the other. A link at `path` is replaced and not followed. Returns false if the
/// file cannot be written; the old file is then unchanged.
bool save_index_file(const IndexKind& kind, const std::string& path, std::string_view identity,
                     std::string_view payload, mode_t mode);

/// The index files of one kind in a cache folder that only its owner can read. A file is found by a
/// hash of its identity. Nothing here fails: the caller rebuilds an index that cannot be read or
/// written. Any number of threads and processes may use the same folder.
class IndexFiles {
 public:
  /// If `folder` is empty, nothing is saved or found.
  IndexFiles(const IndexKind& kind, std::string folder) : kind_(kind), folder_(std::move(folder)) {}

  std::string path(std::string_view identity) const;
  /// Reads the file and marks it as used.
  LoadedIndex load(std::string_view identity) const;
  /// Writes the file, and creates the folder if there is none.
  bool save(std::string_view identity, std::string_view payload) const;
  /// Removes the least recently used files beyond IndexKind::max_files. Files with other
  /// extensions stay.
  void remove_oldest() const;

 private:
  const IndexKind kind_;
  const std::string folder_;
};

}  // namespace forebay
