#pragma once

#include <atomic>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "stream/decision_guide.h"
#include "stream/decision_witness.h"
#include "stream/stream_options.h"

namespace forebay {

/// What a journal says of the run that it is of: its first line.
struct JournalHeader {
  std::string log;  ///< RecordLog::identity()
  uint64_t seed = 0;
  bool shuffled = false;
  bool sampled = false;
  OnUnderrun on_underrun = OnUnderrun::kWait;
  StreamPlace place;  ///< where it begins

  std::string to_json(const std::vector<std::string>& partitions) const;
  static Result<JournalHeader> from_json(std::string_view text, const std::vector<std::string>& partitions);
};

/// Writes down decisions as they are decided: a line of tens of bytes each, so that a run can be repeated exactly though arrival cannot.
class JournalWriter final : public DecisionWitness {
 public:
  /// Begins a journal, or goes on with one of the same run: decisions from `header.place` on are written anew. InvalidArgument where the file is none, or of another
  /// run, or ends before that place; Unavailable where it cannot be written.
  static Result<std::shared_ptr<JournalWriter>> open(const std::string& path, const JournalHeader& header,
                                                     const std::vector<std::string>& partitions);
  void decided(const Decision& decision) override;
  /// What was written is in the hands of the system. Unavailable where it could not be.
  Status flush();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::atomic<bool> failed_ = false, told_ = false;
};

/// Repeats what a journal says. A line that was cut off while it was written was never given: the journal ends before it.
class JournalReader final : public DecisionGuide {
 public:
  /// NotFound, InvalidArgument.
  static Result<std::shared_ptr<JournalReader>> open(const std::string& path,
                                                     const std::vector<std::string>& partitions);
  const JournalHeader& header() const { return header_; }
  /// Corrupt for a line that is whole and no decision.
  Result<Answer> at(int64_t first) override;

 private:
  /// Into `read_`; nothing at the end. Corrupt.
  Status read_next();

  std::string path_;
  size_t partitions_ = 0;
  std::ifstream file_;
  std::streampos begin_;
  int64_t begins_ = 0;  // the first record that a decision here has
  JournalHeader header_;
  std::optional<Decision> read_;  // the last line that was
};

}  // namespace forebay
