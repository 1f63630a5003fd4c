#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/local/local_file.h"
#include "stream/record_log.h"

namespace forebay {

/// A file that others write to at its end, read line by line from a position on. A line is left
/// alone until its end is there. For one thread.
class GrowingFile {
 public:
  /// A line that takes more is Corrupt: it is no file of lines.
  static constexpr uint64_t kMostLine = uint64_t{256} << 20;

  /// `begin`: behind the end of a line, or 0. `blank`: whether lines of blanks alone count.
  GrowingFile(size_t partition, std::string path, uint64_t begin, bool blank)
      : partition_(partition), path_(std::move(path)), position_(begin), searched_(begin), blank_(blank) {}

  /// Adds whole lines, so many of about so many bytes at most; none where there are none. NotFound
  /// where the file is gone, is shorter than what was read of it, or another one stands in its
  /// place and all of this one has been read; Corrupt where the position is in the middle of a
  /// line.
  Status read(size_t records, uint64_t bytes, std::vector<LogRecord>& out);

  /// Behind the last whole line of a file; 0 where it has none.
  static Result<uint64_t> end_of_lines(const std::string& path);

 private:
  Status open();
  Status check_in_place() const;
  Result<uint64_t> size();
  /// Looks for the end of the line that was begun, behind what was looked through; where to read
  /// to, at least, or 0.
  Result<uint64_t> find_end(uint64_t size);
  Result<Buffer> read_range(uint64_t begin, uint64_t length) const;
  /// Takes lines out of the block that begins at the position; whether there was one.
  bool take_lines(const Buffer& block, size_t records, std::vector<LogRecord>& out);

  const size_t partition_;
  const std::string path_;
  FileDescriptor file_;
  uint64_t position_;          ///< behind the last line that was given
  uint64_t searched_;          ///< from the position to here no line ends
  uint64_t line_bytes_ = 256;  ///< of a line, about
  const bool blank_;
};

}  // namespace forebay
