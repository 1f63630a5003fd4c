#pragma once

#include <string>

#include "forebay/result.h"
#include "serve/wait_clock.h"

namespace forebay {

/// Returns the status of the server at that socket as JSON, described in docs/reference/shared.md. NotFound
/// if no server listens there.
Result<std::string> server_status(const std::string& path);
/// Stops the server and waits until it has exited. Unavailable if that takes more than half a
/// minute, by `clock`.
Status stop_server(const std::string& path, WaitClock& clock = WaitClock::real());

}  // namespace forebay
