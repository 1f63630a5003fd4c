#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// A file as a scan of its folder found it.
struct SeenFile {
  std::string path;
  uint64_t size = 0;
  /// The time of the last change of content, name or permissions (ctime), in nanoseconds of the
  /// file system's clock. Unlike mtime it cannot be set by users.
  int64_t changed_ns = 0;
};

/// A pattern of local files, as in fb.files(): `*`, `?`, `[a-z]`, `**`, `{a,b}`, `{000..099}`.
/// Hidden files do not match. Immutable.
class FilePattern {
 public:
  static Result<FilePattern> of(std::string pattern);

  const std::string& text() const { return pattern_; }
  /// The prefix of all paths. The rest of a path is its key.
  const std::string& base() const { return base_; }
  std::string key(const std::string& path) const { return path.substr(base_.size()); }

  /// Calls `all` for each file that matches, in no order, perhaps twice. Waits for the disk.
  /// NotFound if the folder in which the search begins is missing; a folder that vanishes during
  /// the search counts as empty. Unsupported if a name is not UTF-8. Cancelled after a stop.
  Status scan(const std::stop_token& stop, const std::function<void(SeenFile&& file)>& all) const;
  /// Looks up one file. NotFound if it is gone.
  static Result<SeenFile> look_at(const std::string& path);

 private:
  std::string pattern_, base_;
  std::vector<std::string> alternatives_;
};

}  // namespace forebay
