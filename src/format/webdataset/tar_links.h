#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/webdataset/tar_walker.h"

namespace forebay {

/// A path of a tar without "." and "..": "./a//b/../c" is "a/c". Nothing where it leaves the tar.
std::optional<std::string> plain_tar_path(std::string_view path);

/// Finds the files that the links of a tar lead to, as tarfile does: a hard link names the last file of that name before it, a symbolic
/// one the last of all, from its own folder on; links to links are followed. Two passes over the tar: the first gives links to
/// add(), the second all members to look_at(). Memory goes by the number of links.
class TarLinks {
 public:
  /// A file that a link leads to.
  struct Target {
    uint64_t data = 0, size = 0;
  };

  /// Returns the link's number.
  size_t add(const TarMember& link);
  bool empty() const { return links_.empty(); }
  void look_at(const TarMember& member);
  /// Nothing where the link leads out of the tar, to what is no file, or in a circle.
  std::optional<Target> target(size_t link) const;

 private:
  struct Link {
    uint64_t begin = 0;
    std::optional<std::string> name;
    bool hard = false;
  };
  /// A member under a name that a link names.
  struct Named {
    uint64_t begin = 0;
    std::optional<size_t> link;
    std::optional<Target> file;
  };
  const Named* find(const Link& link) const;

  std::vector<Link> links_;
  std::unordered_map<uint64_t, size_t> by_begin_;
  std::unordered_map<std::string, std::vector<Named>> named_;
};

}  // namespace forebay
