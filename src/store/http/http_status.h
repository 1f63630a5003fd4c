#pragma once

#include <chrono>
#include <optional>

#include "forebay/status.h"
#include "store/http/http_transport.h"

namespace forebay {

/// Converts the status of an answer: OK for 2xx; kUnavailable if a retry may help (408, 429, and
/// statuses of servers and proxies with internal trouble); NotFound; or an error that says what to
/// do.
Status judge_http_status(const HttpResponse& response);

/// Returns whether the server asks for fewer requests.
bool is_throttled(const HttpResponse& response);

/// Returns the time after which the server wants the next request: Retry-After in seconds or as a
/// date. Nothing if the server does not say.
std::optional<std::chrono::milliseconds> retry_after(const HttpResponse& response,
                                                     std::chrono::system_clock::time_point now);

}  // namespace forebay
