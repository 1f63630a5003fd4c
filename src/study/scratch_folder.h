#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "forebay/result.h"

namespace forebay {

/// A folder of its own below the temporary one, for its owner alone; it goes with this.
class ScratchFolder {
 public:
  /// Unavailable where it cannot be made.
  static Result<ScratchFolder> make() {
    std::error_code failed;
    std::string path = (std::filesystem::temp_directory_path(failed) / "forebay-XXXXXX").string();
    if (failed || mkdtemp(path.data()) == nullptr)
      return Status(Code::kUnavailable, "no temporary folder can be made; set TMPDIR to where one can").with_key(path);
    return ScratchFolder(std::move(path));
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace forebay
