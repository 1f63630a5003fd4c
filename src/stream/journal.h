#pragma once

#include <atomic>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "stream/decision_guide.h"
#include "stream/decision_observer.h"
#include "stream/stream_options.h"

namespace forebay {

/// The first line of a journal. It identifies the run.
struct JournalHeader {
  std::string log;  ///< RecordLog::identity()
  uint64_t seed = 0;
  bool shuffled = false;
  bool sampled = false;
  OnUnderrun on_underrun = OnUnderrun::kWait;
  StreamPlace place;  ///< place of the journal's first record

  std::string to_json(const std::vector<std::string>& partitions) const;
  static Result<JournalHeader> from_json(std::string_view text, const std::vector<std::string>& partitions);
};

/// Writes each decision to a file as it is made, in a line of tens of bytes. A run can be repeated
/// from its journal, although records arrive at other times then.
///
/// A stream calls decided() under its lock; the loader calls flush() from any thread.
class JournalWriter final : public DecisionObserver {
 public:
  /// Begins a journal, or continues one of the same run: its decisions from `header.place` on are
  /// replaced. InvalidArgument if the file is no journal, belongs to another run, or ends before
  /// that place. Unavailable if it cannot be written.
  static Result<std::shared_ptr<JournalWriter>> open(const std::string& path, const JournalHeader& header,
                                                     const std::vector<std::string>& partitions);
  void decided(const Decision& decision) override;
  /// Hands all buffered lines to the operating system. Unavailable if any line could not be
  /// written.
  Status flush();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::atomic<bool> failed_ = false, warned_ = false;
};

/// The guide of a run that repeats the decisions of a journal. Ignores an incomplete last line: the
/// records of its decision were never delivered.
class JournalReader final : public DecisionGuide {
 public:
  /// NotFound if there is no such file; InvalidArgument if it is no journal.
  static Result<std::shared_ptr<JournalReader>> open(const std::string& path,
                                                     const std::vector<std::string>& partitions);
  const JournalHeader& header() const { return header_; }
  /// Corrupt if a complete line is no decision.
  Result<Answer> at(int64_t first) override;

 private:
  /// Reads the next line into `read_`, which is empty at the end.
  Status read_next();

  std::string path_;
  size_t partitions_ = 0;
  std::ifstream file_;
  std::streampos begin_;
  int64_t begins_ = 0;  // number of the first record of the first decision
  JournalHeader header_;
  std::optional<Decision> read_;  // the decision of the line that was read last
};

}  // namespace forebay
