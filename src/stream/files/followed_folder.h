#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <deque>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stream/files/file_pattern.h"

namespace forebay {

/// Where a file stands in the order of a followed folder: by its last change, files of one moment
/// by key.
struct FolderPlace {
  int64_t changed_ns = -1;  ///< before all files
  std::string key;
  friend auto operator<=>(const FolderPlace&, const FolderPlace&) = default;

  /// "1700000000123456789/a/b.jpg".
  std::string to_string() const;
  /// Nothing for text that is none.
  static std::optional<FolderPlace> parse(std::string_view text);
};

/// Names of files that are being written: ".tmp" or ".part" at the end.
bool is_unfinished_name(std::string_view path);

/// The last of the files that have been left alone for a while; before all files where there is
/// none.
Result<FolderPlace> last_settled(const FilePattern& pattern, const std::stop_token& stop);

/// Finds files in the order of their last change, from a place on. A file is given once it and all
/// that come before it have settled: nothing appears later that would have come before. For one
/// thread.
class FollowedFolder {
 public:
  using Clock = std::chrono::steady_clock;
  /// How long a file must have been left alone.
  static constexpr std::chrono::milliseconds kSettle{1000};
  /// A change so long ago has settled, whatever the clocks of file servers say.
  static constexpr std::chrono::minutes kLongAgo{10};

  FollowedFolder(FilePattern pattern, FolderPlace after) : pattern_(std::move(pattern)), after_(std::move(after)) {}

  struct Found {
    FolderPlace place;
    SeenFile file;
  };
  /// The next files, so many at most; none where none have settled. Looks through the folder when
  /// it is time to.
  Result<std::vector<Found>> next(size_t most, const std::stop_token& stop);
  /// Whether next() has more without looking.
  bool has_waiting() const { return !waiting_.empty(); }
  /// When next() will look again.
  Clock::time_point looks_at() const { return look_at_; }

 private:
  Status look(const std::stop_token& stop);
  /// All changes up to here had been made, by the file system's own clock, when a look began: that
  /// look has seen their files.
  int64_t settled_until(Clock::time_point begin, int64_t now_ns);
  void remember(Found&& found);

  const FilePattern pattern_;
  FolderPlace after_;           ///< of the last file that was given
  std::vector<Found> waiting_;  ///< settled, the next one last; while looking a heap with the latest on top
  Clock::time_point look_at_{};
  /// When a look had ended, and the latest change that was seen until then.
  std::deque<std::pair<Clock::time_point, int64_t>> latest_;
  int64_t latest_settled_ = -1;
};

}  // namespace forebay
