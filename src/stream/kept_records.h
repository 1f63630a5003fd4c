#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/kept_bytes.h"
#include "stream/stream.h"

namespace forebay {

/// Records of a stream that are kept though they are behind: for rehearsal. By number; from any thread.
class KeptRecords {
 public:
  explicit KeptRecords(std::shared_ptr<const RecordLog> log)
      : log_(std::move(log)), bytes_(std::make_shared<StreamBytes>()) {}

  /// Records of the stream that are there now. NotFound where one is not.
  Status keep(const Stream& stream, std::span<const int64_t> numbers);
  void let_go(std::span<const int64_t> numbers);
  std::shared_ptr<const LogRecord> record(int64_t number) const;

  /// Where these lie in the log, as JSON: of each its number, partition, offset, and an offset before it.
  std::string places(std::span<const int64_t> numbers) const;
  /// Reads those records again from the log, and keeps them in place of all others. InvalidArgument for what places() does not write; NotFound where the log has
  /// forgotten one; Unavailable where it cannot be reached for some seconds.
  Status read_places(const std::string& json);

  std::shared_ptr<KeptBytes> bytes() const { return bytes_; }

 private:
  struct Kept {
    std::shared_ptr<const LogRecord> record;
    std::string before;  // an offset that reading it again begins behind; empty: with the first one there is
  };
  Result<std::map<int64_t, Kept>> parse_places(const std::string& json) const;
  Status read_partition(size_t partition, std::vector<Kept*> wanted) const;
  void count();

  const std::shared_ptr<const RecordLog> log_;
  const std::shared_ptr<StreamBytes> bytes_;
  mutable std::mutex mutex_;
  std::map<int64_t, Kept> records_;
};

}  // namespace forebay
