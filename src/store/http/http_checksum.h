#pragma once

#include "forebay/status.h"
#include "store/http/http_transport.h"

namespace forebay {

/// Compares a whole body with its digests (x-amz-checksum-*, Content-MD5, Digest, Repr-Digest).
/// kUnavailable if one differs, because another attempt may bring better bytes. OK if there is no
/// known digest.
Status check_http_checksum(const HttpResponse& response);

}  // namespace forebay
