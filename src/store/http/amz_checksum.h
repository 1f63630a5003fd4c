#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "store/http/http_transport.h"

namespace forebay {

/// Compares a whole body with its x-amz-checksum-* headers. kUnavailable if they differ, because
/// another attempt may bring better bytes. OK if there is no such header, or only one that is made
/// of parts' checksums.
Status check_amz_checksum(const HttpResponse& response);

/// Returns the value of x-amz-checksum-crc64nvme.
std::string amz_crc64nvme(std::span<const uint8_t> bytes);

}  // namespace forebay
