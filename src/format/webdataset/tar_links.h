#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/webdataset/tar_walker.h"

namespace forebay {

/// Normalizes a path of a tar: "./a//b/../c" becomes "a/c". Returns nullopt if the path leaves the
/// tar.
std::optional<std::string> normalize_tar_path(std::string_view path);

/// Resolves the links of a tar as Python's tarfile does. A hard link means the last earlier file of
/// that name. A symbolic link means the last file of that name in the tar, relative to the link's
/// folder. Links to links are followed.
///
/// It takes two passes over the tar: the first passes links to add(), the second passes all members
/// to record_member(). Memory is proportional to the number of links. One thread.
class TarLinks {
 public:
  /// The range of a file that a link leads to.
  struct Target {
    uint64_t data = 0;  ///< offset in the tar of the file's first byte
    uint64_t size = 0;
  };

  /// Adds a link and returns its number.
  size_t add(const TarMember& link);
  bool empty() const { return links_.empty(); }
  void record_member(const TarMember& member);
  /// Returns nullopt if the link leaves the tar, leads to something that is not a file, or is
  /// circular.
  std::optional<Target> target(size_t link) const;

 private:
  struct Link {
    uint64_t header_offset = 0;
    std::optional<std::string> target_name;  ///< normalized; nullopt if the target is not in the tar
    bool hard = false;
  };
  /// A member whose name is the target of a link.
  struct Candidate {
    uint64_t header_offset = 0;
    std::optional<size_t> link;  ///< its number, if the member is a link itself
    std::optional<Target> file;  ///< set if the member is a file
  };
  /// Returns the member that the link means, or null. The pointer is valid until record_member().
  const Candidate* find(const Link& link) const;

  std::vector<Link> links_;
  std::unordered_map<uint64_t, size_t> links_by_header_offset_;
  /// By target name, each in the order of the tar. add() makes the names, record_member() fills
  /// them.
  std::unordered_map<std::string, std::vector<Candidate>> candidates_by_name_;
};

}  // namespace forebay
