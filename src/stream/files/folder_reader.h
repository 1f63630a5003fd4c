#pragma once

#include <stop_token>
#include <utility>
#include <vector>

#include "stream/files/followed_folder.h"
#include "stream/record_log.h"

namespace forebay {

/// Reads what is in the files of a followed folder, in the order in which they appear, as one
/// partition. What records a file gives is said by whoever derives from it.
class FolderReader : public LogReader {
 public:
  FolderReader(FilePattern pattern, FolderPlace after) : folder_(std::move(pattern), std::move(after)) {}

  Result<std::vector<LogRecord>> read(const std::vector<size_t>& wanted, const Limits& limits,
                                      std::stop_token stop) final;

 protected:
  /// Adds what there is now, within the limits; nothing where no file has settled.
  virtual Status read_once(const Limits& limits, const std::stop_token& stop, std::vector<LogRecord>& records) = 0;

  FollowedFolder folder_;
};

}  // namespace forebay
