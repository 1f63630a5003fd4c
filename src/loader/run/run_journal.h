#pragma once

#include <memory>
#include <string>

#include "base/mutex.h"
#include "stream/journal.h"
#include "stream/stream.h"

namespace forebay {

/// The header of a journal of a stream over `log`, whose first record is at `place`.
JournalHeader journal_header(const RecordLog& log, const StreamOptions& options, StreamPlace place);

/// StateMismatch if the journal at `path` was written by a run with other settings: its decisions
/// would then name other records. `written`: its header. `now`: that of this run.
Status check_same_run(const JournalHeader& written, const JournalHeader& now, const std::string& path);

/// The journal that a stream's run writes, if any. While there is one, it observes the decisions
/// of the stream.
///
/// Owned by a StreamRun. start() and end() are called on the consumer's thread; flush() may be
/// called from any thread.
class RunJournal {
 public:
  /// Writes the decisions of `stream` from record `number` on to the file at `path`, and to no
  /// other file. After an error the previous journal goes on. Returns errors of
  /// JournalWriter::open().
  Status start(Stream& stream, const std::string& path, int64_t number);
  /// Ends the journal: the next records of `stream` belong to another place.
  void end(Stream& stream);
  /// Hands all buffered lines to the operating system. Ok if there is no journal.
  Status flush() const;

 private:
  std::shared_ptr<JournalWriter> writer() const;

  mutable Mutex mutex_;
  std::shared_ptr<JournalWriter> writer_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
