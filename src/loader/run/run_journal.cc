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

Status RunJournal::start(Stream& stream, const std::string& path, int64_t number) {
  const std::shared_ptr<JournalWriter> previous = writer();
  // `path` may be that of the current journal: nothing may be written while it is opened anew.
  const int64_t next_decided = stream.set_observer(nullptr, 0);
  if (previous) (void)previous->flush();
  Result<std::shared_ptr<JournalWriter>> opened = JournalWriter::open(
      path, journal_header(stream.log(), stream.options(), stream.place(number)), stream.log().partitions());
  if (!opened.ok()) {
    if (previous) stream.set_observer(previous, next_decided);
    return opened.status();
  }
  stream.set_observer(*opened, number);
  const Lock lock(mutex_);
  writer_ = std::move(*opened);
  return {};
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
