#pragma once

#include <chrono>
#include <optional>

#include "forebay/status.h"
#include "store/http/http_transport.h"

namespace forebay {

/// What the status of an answer means: OK for 2xx, kUnavailable where another try may help (408, 429 and what servers and
/// proxies say when they have troubles of their own), NotFound, or an error that says what to do.
Status judge_http_status(const HttpResponse& response);

/// True where the server asks for fewer requests.
bool is_throttled(const HttpResponse& response);

/// How long the server wants to be left alone: Retry-After in seconds or as a date. Nothing where it does not say.
std::optional<std::chrono::milliseconds> retry_after(const HttpResponse& response,
                                                     std::chrono::system_clock::time_point now);

}  // namespace forebay
