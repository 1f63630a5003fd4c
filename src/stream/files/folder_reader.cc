#include "stream/files/folder_reader.h"

#include <algorithm>

#include "stream/pause.h"

namespace forebay {

Result<std::vector<LogRecord>> FolderReader::read(const std::vector<size_t>& wanted, const Limits& limits,
                                                  std::stop_token stop) {
  const auto end = FollowedFolder::Clock::now() + limits.wait;
  std::vector<LogRecord> records;
  while (records.empty() && !stop.stop_requested()) {
    if (!wanted.empty()) FOREBAY_RETURN_IF_ERROR(read_once(limits, stop, records));
    const auto now = FollowedFolder::Clock::now();
    if (!records.empty() || now >= end) return records;
    const auto until = wanted.empty() ? end : std::min(end, folder_.looks_at());
    pause_for(std::max<FollowedFolder::Clock::duration>(until - now, std::chrono::milliseconds(1)), stop);
  }
  return cancelled("stopped while waiting for files");
}

}  // namespace forebay
