#include "telemetry/log.h"

#include <cstdio>
#include <utility>

#include "base/mutex.h"

namespace forebay {

namespace {
struct Log {
  Mutex mutex;
  // One call for each line, so that lines of several threads do not mix.
  LogSink sink FOREBAY_GUARDED_BY(mutex) = [](const std::string& line) {
    std::fprintf(stderr, "forebay: %s\n", line.c_str());
  };
};
// Made on first use, because static objects of other files may warn before those of this file
// exist.
Log& the_log() {
  static Log log;
  return log;
}
}  // namespace

void set_log_sink(LogSink new_sink) {
  Log& log = the_log();
  const Lock lock(log.mutex);
  log.sink = std::move(new_sink);
}

void log_warning(const std::string& line) {
  LogSink current;
  {
    Log& log = the_log();
    const Lock lock(log.mutex);
    current = log.sink;
  }
  // Without the lock, because a sink may itself warn or set another sink.
  if (current) current(line);
}

}  // namespace forebay
