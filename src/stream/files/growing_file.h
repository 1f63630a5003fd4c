#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/local/local_file.h"
#include "stream/record_log.h"

namespace forebay {

/// A file to which others append, read line by line from a position on. A line is not returned
/// before its end was written. For one thread.
class GrowingFile {
 public:
  /// A longer line is Corrupt, since the file is then probably not a file of lines.
  static constexpr uint64_t kMaxLine = uint64_t{256} << 20;

  /// `begin`: 0, or the position after the end of a line. `blank`: whether blank lines are records.
  GrowingFile(size_t partition, std::string path, uint64_t begin, bool blank)
      : partition_(partition), path_(std::move(path)), position_(begin), searched_(begin), blank_(blank) {}

  size_t partition() const { return partition_; }
  /// Adds complete lines, at most `records` of about `bytes` bytes; none if there are none.
  /// NotFound if the file is missing, or is shorter than the part that was read, and, after all of
  /// its lines were read, if its name is gone or belongs to another file. Corrupt if the position
  /// is in the middle of a line.
  Status read(size_t records, uint64_t bytes, std::vector<LogRecord>& out);

  /// Returns the position after the last complete line of a file; 0 if it has none.
  static Result<uint64_t> end_of_lines(const std::string& path);

 private:
  Status open();
  Status check_in_place() const;
  Result<uint64_t> size();
  /// Searches for the end of the line that has begun, from `searched_` on. Returns the position
  /// after that end, or 0 if it was not written yet.
  Result<uint64_t> find_end(uint64_t size);
  Result<Buffer> read_range(uint64_t begin, uint64_t length) const;
  /// Takes lines from a block that begins at the position. Returns whether there was one.
  bool take_lines(const Buffer& block, size_t records, std::vector<LogRecord>& out);

  const size_t partition_;
  const std::string path_;
  FileDescriptor file_;
  uint64_t position_;          ///< after the last line that was returned
  uint64_t searched_;          ///< no line ends between `position_` and here
  uint64_t line_bytes_ = 256;  ///< moving average of a line's length
  const bool blank_;
};

}  // namespace forebay
