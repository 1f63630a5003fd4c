#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace forebay {

/// A kind of index files: each saves what reading an object (or listing a folder) found, so that a later opening need not read it again.
struct IndexKind {
  std::string_view name;  ///< stands in each file's header, and ends the names of the files: "lines" of "….lines"
  uint64_t most_bytes;    ///< larger files are neither written nor read
  size_t most_files;      ///< in a folder: the longest unused ones are removed
};

struct LoadedIndex {
  enum class State {
    kMissing,
    kDamaged,  ///< or written by another version, or not an index of this kind
    kStale,    ///< made of something else than `identity`
    kFound,
  };
  State state = State::kMissing;
  std::string payload;  ///< empty unless kFound
};

/// Reads an index file. The payload is what was saved, bit for bit. A checksum detects damage and no malice, so callers check every
/// number in the payload before they use it. `identity` says what the index was made of.
LoadedIndex load_index_file(const IndexKind& kind, const std::string& path, std::string_view identity);

/// Replaces an index file in one step: readers, and other processes that save the same file, see one whole file or another. A link at
/// `path` is replaced and not followed. False if it cannot be written, after which the file is as it was.
bool save_index_file(const IndexKind& kind, const std::string& path, std::string_view identity,
                     std::string_view payload, mode_t mode);

/// The index files of one kind in a cache folder, which only its owner can read. A file is found by a hash of its identity. An
/// index that cannot be read or written is made anew by the caller, so nothing here fails. Any number of threads and processes may use
/// the same folder.
class IndexFiles {
 public:
  /// Nothing is saved or found if `folder` is empty.
  IndexFiles(const IndexKind& kind, std::string folder) : kind_(kind), folder_(std::move(folder)) {}

  std::string path(std::string_view identity) const;
  /// Marks the file as used.
  LoadedIndex load(std::string_view identity) const;
  /// Makes the folder if there is none.
  bool save(std::string_view identity, std::string_view payload) const;
  /// Removes the longest unused files above IndexKind::most_files. Files of other names stay.
  void remove_oldest() const;

 private:
  const IndexKind kind_;
  const std::string folder_;
};

}  // namespace forebay
