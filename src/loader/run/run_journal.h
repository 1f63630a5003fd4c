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

class RunJournal;

/// A file that is open to become the journal of a stream's run. The previous journal pauses
/// meanwhile, since its file may be the same. It goes on if the new one does not start.
///
/// Used on the consumer's thread, while the run lives.
class OpenedJournal {
 public:
  OpenedJournal(const OpenedJournal&) = delete;
  OpenedJournal& operator=(const OpenedJournal&) = delete;
  ~OpenedJournal();
  /// Writes the decisions from the number that was given to RunJournal::open() on to this file, and
  /// to no other.
  void start();

 private:
  friend class RunJournal;
  OpenedJournal(RunJournal& journal, Stream& stream, int64_t number);

  RunJournal& journal_;
  Stream& stream_;
  std::shared_ptr<JournalWriter> writer_;  // null: not open yet
  int64_t first_;                          // number of the first record of `writer_`
  int64_t paused_at_;                      // the first record that the previous journal lacks
  bool started_ = false;
};

/// The journal that a stream's run writes, if any. While there is one, it observes the decisions
/// of the stream.
///
/// Owned by a StreamRun. open() and end() are called on the consumer's thread; flush() may be
/// called from any thread.
class RunJournal {
 public:
  /// Opens the file at `path` for the decisions of `stream` from record `number` on. After an error
  /// the previous journal goes on. Returns errors of JournalWriter::open().
  Result<std::unique_ptr<OpenedJournal>> open(Stream& stream, const std::string& path, int64_t number);
  /// Ends the journal: the next records of `stream` belong to another place.
  void end(Stream& stream);
  /// Hands all buffered lines to the operating system. Ok if there is no journal.
  Status flush() const;

 private:
  friend class OpenedJournal;
  std::shared_ptr<JournalWriter> writer() const;

  mutable Mutex mutex_;
  std::shared_ptr<JournalWriter> writer_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
