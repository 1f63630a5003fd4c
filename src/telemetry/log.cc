#include "telemetry/log.h"

#include <cstdio>
#include <mutex>
#include <utility>

namespace forebay {

namespace {
// Made at first use: others' static objects may warn before this file's would be there.
std::mutex& sink_mutex() {
  static std::mutex mutex;
  return mutex;
}
LogSink& sink() {
  // One call for a line: those of several threads do not mix.
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
  // Without the lock: a sink may warn in turn, or set another.
  if (current) current(line);
}

}  // namespace forebay
