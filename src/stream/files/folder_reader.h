#pragma once

#include <algorithm>
#include <utility>

#include "stream/files/followed_folder.h"
#include "stream/polling_reader.h"

namespace forebay {

/// Reads the files of a followed folder as one partition, in the order in which they appear.
/// Derived classes decide which records a file has. They add none if no file has settled.
class FolderReader : public PollingReader {
 protected:
  FolderReader(FilePattern pattern, FolderPlace after, StreamClock& clock)
      : PollingReader(clock), folder_(std::move(pattern), std::move(after), clock) {}

  Time next_poll(size_t) override { return std::max(folder_.next_scan(), clock_.now() + std::chrono::milliseconds(1)); }

  FollowedFolder folder_;
};

}  // namespace forebay
