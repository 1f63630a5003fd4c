#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "store/http/http_transport.h"

namespace forebay {

/// Compares a whole body with the x-amz-checksum-* that came with it: kUnavailable where they differ (another attempt may
/// bring better bytes), OK where there is none or only one made of parts.
Status check_amz_checksum(const HttpResponse& response);

/// The value of x-amz-checksum-crc64nvme.
std::string amz_crc64nvme(std::span<const uint8_t> bytes);

}  // namespace forebay
