#include "loader/run/run_journal.h"

#include <utility>

#include <fmt/format.h>

namespace forebay {

JournalHeader journal_header(const RecordLog& log, const StreamOptions& options, StreamPlace place) {
  return {.log = log.identity(),
          .seed = options.seed,
          .shuffled = options.shuffled,
          .sampled = options.policy == BufferPolicy::kSample,
          .on_underrun = options.on_underrun,
          .place = std::move(place)};
}

Status check_same_run(const JournalHeader& written, const JournalHeader& now, const std::string& path) {
  std::string differs;
  if (written.log != now.log) differs += ", the stream";
  if (written.seed != now.seed) differs += ", the seed";
  if (written.shuffled != now.shuffled) differs += ", .shuffle()";
  if (written.on_underrun != now.on_underrun) differs += ", .buffer(on_underrun=)";
  if (differs.empty()) return {};
  return Status(Code::kStateMismatch,
                fmt::format("{} was written with something else: {} differ(s)", path, differs.substr(2)));
}

OpenedJournal::OpenedJournal(RunJournal& journal, Stream& stream, int64_t number)
    : journal_(journal), stream_(stream), first_(number), paused_at_(stream.set_observer(nullptr, 0)) {
  (void)journal.flush();
}

OpenedJournal::~OpenedJournal() {
  if (started_) return;
  if (const std::shared_ptr<JournalWriter> previous = journal_.writer()) stream_.set_observer(previous, paused_at_);
}

void OpenedJournal::start() {
  stream_.set_observer(writer_, first_);
  started_ = true;
  const Lock lock(journal_.mutex_);
  journal_.writer_ = std::move(writer_);
}

Result<std::unique_ptr<OpenedJournal>> RunJournal::open(Stream& stream, const std::string& path, int64_t number) {
  std::unique_ptr<OpenedJournal> opened(new OpenedJournal(*this, stream, number));
  FOREBAY_ASSIGN(opened->writer_,
                 JournalWriter::open(path, journal_header(stream.log(), stream.options(), stream.place(number)),
                                     stream.log().partitions()));
  return opened;
}

void RunJournal::end(Stream& stream) {
  stream.set_observer(nullptr, 0);
  std::shared_ptr<JournalWriter> ended;
  {
    const Lock lock(mutex_);
    ended.swap(writer_);
  }
  if (ended) (void)ended->flush();
}

Status RunJournal::flush() const {
  const std::shared_ptr<JournalWriter> current = writer();
  return current ? current->flush() : Status();
}

std::shared_ptr<JournalWriter> RunJournal::writer() const {
  const Lock lock(mutex_);
  return writer_;
}

}  // namespace forebay
