#pragma once

#include <chrono>
#include <cstdint>

#include "base/read_request.h"
#include "forebay/buffer.h"
#include "forebay/result.h"
#include "store/http/http_transport.h"

namespace forebay {

/// Returns a number that changes when the object does (ReadRequest::version), made of the first of
/// these that the response of a web server has; 0 if it has none:
///
/// - a strong ETag;
/// - a weak ETag and the size;
/// - Last-Modified and the size. It counts only if the response (its Date, or else `now`) is at
///   least a second younger, because an object may change twice within one second.
uint64_t version_from_response(const HttpResponse& response, uint64_t size, std::chrono::system_clock::time_point now);

/// Stores the version in `request.version` if the reader asked for it and it is known (not 0). Call
/// it before the answer.
void report_version(const ReadRequest& request, uint64_t version);

/// Returns the answer to a request with ReadRequest::version_only that failed. It is an empty
/// buffer, no version, if the object is at fault, which the later read reports; and the failure
/// itself if that is transient (Unavailable, Cancelled).
Result<Buffer> answer_version_only(const Status& failure);

}  // namespace forebay
