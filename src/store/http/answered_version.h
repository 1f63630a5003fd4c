#pragma once

#include <chrono>
#include <cstdint>

#include "base/read_request.h"
#include "store/http/http_transport.h"

namespace forebay {

/// Returns what distinguishes the versions of an object in a web server's answer, as
/// ReadRequest::version uses it: the strong ETag, or else a hash of the size with the weak ETag, or
/// else with Last-Modified. Last-Modified counts only if the answer was given (Date, or else `now`)
/// at least a second later, because an object may change twice within one second. Returns 0 if none
/// of these counts.
uint64_t answered_version(const HttpResponse& response, uint64_t size, std::chrono::system_clock::time_point now);

/// Reports the version to the reader.
void report_version(const ReadRequest& request, uint64_t version);

/// Returns the answer to ReadRequest::version_only after this failure: an empty one, or the failure
/// itself if it says nothing about the object.
Result<Buffer> version_failure(const Status& status);

}  // namespace forebay
