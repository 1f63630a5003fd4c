#pragma once

#include <string>
#include <utility>

#include "forebay/result.h"

namespace forebay {

/// A folder of its own below the temporary folder, readable by its owner alone. The destructor
/// deletes it. make() also deletes the folders of processes that were killed.
class WorkingFolder {
 public:
  /// Unavailable if it cannot be made.
  static Result<WorkingFolder> make();
  WorkingFolder(WorkingFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}
  WorkingFolder& operator=(WorkingFolder&&) = delete;
  ~WorkingFolder();

  const std::string& path() const { return path_; }

 private:
  WorkingFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;  ///< file lock, held while the folder is in use
};

}  // namespace forebay
