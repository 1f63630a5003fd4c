#pragma once

#include <chrono>
#include <cstdint>

#include "base/read_request.h"
#include "store/http/http_transport.h"

namespace forebay {

/// What tells the versions of an object apart in the answer of a web server, as ReadRequest::version has it: a strong ETag; or else, together
/// with the size, a weak one or Last-Modified. That counts only where the answer was given (Date, or else `now`) a second later at
/// least: within one second an object may change twice. 0 where there is nothing to go by.
uint64_t answered_version(const HttpResponse& response, uint64_t size, std::chrono::system_clock::time_point now);

/// Tells it to who asked.
void tell_version(const ReadRequest& request, uint64_t version);

/// The answer to ReadRequest::version_only where there was this failure: none, unless it says nothing of the object.
Result<Buffer> version_failure(const Status& status);

}  // namespace forebay
