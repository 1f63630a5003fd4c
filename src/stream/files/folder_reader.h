#pragma once

#include <stop_token>
#include <utility>
#include <vector>

#include "stream/files/followed_folder.h"
#include "stream/record_log.h"

namespace forebay {

/// Reads the files of a followed folder as one partition, in the order in which they appear.
/// Derived classes decide which records a file has.
class FolderReader : public LogReader {
 public:
  FolderReader(FilePattern pattern, FolderPlace after) : folder_(std::move(pattern), std::move(after)) {}

  Result<std::vector<LogRecord>> read(const std::vector<size_t>& wanted, const Limits& limits,
                                      std::stop_token stop) final;

 protected:
  /// Adds the records that are available now, within the limits. Adds none if no file has settled.
  virtual Status read_once(const Limits& limits, const std::stop_token& stop, std::vector<LogRecord>& records) = 0;

  FollowedFolder folder_;
};

}  // namespace forebay
