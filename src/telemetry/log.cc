#include "telemetry/log.h"

#include <cstdio>
#include <mutex>
#include <utility>

namespace forebay {

namespace {
// Made on first use, because static objects of other files may warn before those of this file
// exist.
std::mutex& sink_mutex() {
  static std::mutex mutex;
  return mutex;
}
LogSink& sink() {
  // One call for each line, so that lines of several threads do not mix.
  static LogSink instance = [](const std::string& line) { std::fprintf(stderr, "forebay: %s\n", line.c_str()); };
  return instance;
}
}  // namespace

void set_log_sink(LogSink new_sink) {
  std::lock_guard lock(sink_mutex());
  sink() = std::move(new_sink);
}

void log_warning(const std::string& line) {
  LogSink current;
  {
    std::lock_guard lock(sink_mutex());
    current = sink();
  }
  // Without the lock, because a sink may itself warn or set another sink.
  if (current) current(line);
}

}  // namespace forebay
