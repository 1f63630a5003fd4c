#pragma once

#include <cstdint>
#include <string>

#include "forebay/buffer.h"
#include "forebay/result.h"
#include "store/http/http_transport.h"

namespace forebay {

/// Returns the value of Content-Encoding if the body has to be decoded; empty if the body is the
/// object itself. ("aws-chunked" only says how an object was uploaded.)
std::string content_encoding(const HttpResponse& response);

/// Decodes an encoded body: gzip (with any number of members) or deflate. Errors: Unsupported for
/// other encodings; Corrupt for bytes that are not as the header says; OutOfBudget, with an
/// estimate of the bytes needed, for an object of more than `max_bytes`.
Result<Buffer> decode_content(const HttpResponse& response, uint64_t max_bytes);

}  // namespace forebay
