#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "forebay/result.h"
#include "serve/wait_clock.h"
#include "store/local/local_file.h"

namespace forebay {

/// Connects to the server at `path`. If none listens there and `starts` is true, starts one with
/// `program` (empty: `forebay` on PATH). The server is a process of its own that exits some seconds
/// after its last client. Processes that call this at the same time get the same server.
///
/// Errors: NotFound if there is no server; Unavailable if it cannot be started, or if another
/// process has held the lock for half a minute by `clock`; Cancelled if `stop` was requested.
Result<FileDescriptor> connect_or_start(const std::string& path, const std::vector<std::string>& program, bool starts,
                                        const std::stop_token& stop, WaitClock& clock = WaitClock::real());

}  // namespace forebay
