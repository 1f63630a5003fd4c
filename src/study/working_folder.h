#pragma once

#include <string>
#include <utility>

#include "forebay/result.h"

namespace forebay {

/// A folder of its own below the temporary one, for its owner alone; it goes with this. What a process that was killed left behind goes when the
/// next one is made.
class WorkingFolder {
 public:
  /// Unavailable where it cannot be made.
  static Result<WorkingFolder> make();
  WorkingFolder(WorkingFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}
  WorkingFolder& operator=(WorkingFolder&&) = delete;
  ~WorkingFolder();

  const std::string& path() const { return path_; }

 private:
  WorkingFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;  ///< held for as long as it is used
};

}  // namespace forebay
