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
#include "stream/stream_clock.h"

namespace forebay {

/// The place of a file in the order of a followed folder. Files are ordered by their last change,
/// and by key if they changed at the same time.
struct FolderPlace {
  int64_t changed_ns = -1;  ///< before all files
  std::string key;
  friend auto operator<=>(const FolderPlace&, const FolderPlace&) = default;

  /// "1700000000123456789/a/b.jpg".
  std::string to_string() const;
  /// Returns nothing if the text is not a place.
  static std::optional<FolderPlace> parse(std::string_view text);
};

/// Whether the name says that the file is still being written: it ends in ".tmp" or ".part".
bool is_unfinished_name(std::string_view path);

/// Returns the last file that has settled, i.e. has not changed for FollowedFolder::kSettle.
/// Returns the place before all files if there is none.
Result<FolderPlace> last_settled(const FilePattern& pattern, const StreamClock& clock, const std::stop_token& stop);

/// Finds files in the order of their last change, after a given place. A file is returned once it
/// and all files before it have settled, so that no file appears later that belongs before it. For
/// one thread.
class FollowedFolder {
 public:
  using Time = StreamClock::Time;
  /// The time that a file must have been unchanged.
  static constexpr std::chrono::milliseconds kSettle{1000};
  /// A change that is older than this has settled, however far clocks of file servers differ.
  static constexpr std::chrono::minutes kLongAgo{10};

  FollowedFolder(FilePattern pattern, FolderPlace after, const StreamClock& clock)
      : pattern_(std::move(pattern)), clock_(clock), after_(std::move(after)) {}

  struct Found {
    FolderPlace place;
    SeenFile file;
  };
  /// Returns the next files, at most `most`; none if none have settled. Scans the folder if the
  /// next scan is due and no found file is left.
  Result<std::vector<Found>> next(size_t most, const std::stop_token& stop);
  /// Whether next() has more files without a scan.
  bool has_waiting() const { return !waiting_.empty(); }
  /// The earliest time of the next scan.
  Time next_scan() const { return next_scan_; }

 private:
  Status scan_folder(const std::stop_token& stop);
  /// Returns the time, of the file system's clock, up to which all changes were made before a scan
  /// that begins at `begin`. That scan has seen all of their files.
  int64_t settled_until(Time begin, int64_t now_ns);
  void remember(Found&& found);

  const FilePattern pattern_;
  const StreamClock& clock_;
  FolderPlace after_;  ///< place of the last file that was returned
  /// Settled files, the next one last. During a scan it is a heap with the latest file on top.
  std::vector<Found> waiting_;
  Time next_scan_{};
  struct Scan {
    Time end;
    int64_t latest_change_ns = -1;  ///< of all files that this scan or an earlier one has seen
  };
  std::deque<Scan> scans_;      ///< that saw a later change than the scan before, oldest first
  int64_t settled_until_ = -1;  ///< latest change that a scan saw at least kSettle ago
};

}  // namespace forebay
