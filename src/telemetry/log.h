#pragma once

#include <functional>
#include <string>

namespace forebay {

/// Receives warnings: one line each, without newline. Standard error by default. The sink may be
/// called from any thread.
using LogSink = std::function<void(const std::string& line)>;
void set_log_sink(LogSink sink);
void log_warning(const std::string& line);

}  // namespace forebay
