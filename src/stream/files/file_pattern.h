#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// A file as a look at its folder found it.
struct SeenFile {
  std::string path;
  uint64_t size = 0;
  /// The time of the last change of content, name or rights, in nanoseconds, as the file system's
  /// clock had it. Nobody can set it to another time.
  int64_t changed_ns = 0;
};

/// Local files by pattern, as fb.files() has it: `*`, `?`, `[a-z]`, `**`, `{a,b}`, `{000..099}`;
/// hidden ones do not match.
class FilePattern {
 public:
  static Result<FilePattern> of(std::string pattern);

  const std::string& text() const { return pattern_; }
  /// The beginning of all paths; the rest of a path is its key.
  const std::string& base() const { return base_; }
  std::string key(const std::string& path) const { return path.substr(base_.size()); }

  /// Gives each file that matches, in no order, perhaps twice. NotFound where the folder that the
  /// search begins in is not there; folders that vanish meanwhile are empty; Unsupported for a name
  /// that is not UTF-8. Waits for the disk; Cancelled after a stop.
  Status scan(const std::stop_token& stop, const std::function<void(SeenFile&& file)>& all) const;
  /// One file; NotFound where it is gone.
  static Result<SeenFile> look_at(const std::string& path);

 private:
  std::string pattern_, base_;
  std::vector<std::string> alternatives_;
};

}  // namespace forebay
