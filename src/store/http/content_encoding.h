#pragma once

#include <cstdint>
#include <string>

#include "forebay/buffer.h"
#include "forebay/result.h"
#include "store/http/http_transport.h"

namespace forebay {

/// The value of Content-Encoding where the body has to be decoded; empty where it is the object itself.
/// ("aws-chunked" is how an upload was sent, and says nothing of the object.)
std::string content_encoding(const HttpResponse& response);

/// The object behind an encoded body: gzip (of any number of members) and deflate.
/// Errors: Unsupported for other encodings; Corrupt for bytes that are not what the header says; OutOfBudget, with an estimate of the bytes
/// needed, for an object of more than `max_bytes`.
Result<Buffer> decode_content(const HttpResponse& response, uint64_t max_bytes);

}  // namespace forebay
