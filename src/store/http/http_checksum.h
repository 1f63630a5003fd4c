#pragma once

#include "forebay/status.h"
#include "store/http/http_transport.h"

namespace forebay {

/// Compares a whole body with the digests that came with it (x-amz-checksum-*, Content-MD5, Digest, Repr-Digest):
/// kUnavailable where one differs, since another attempt may bring better bytes; OK where there is none that is known.
Status check_http_checksum(const HttpResponse& response);

}  // namespace forebay
