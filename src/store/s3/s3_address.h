#pragma once

#include <string>
#include <string_view>

#include "store/s3/s3_options.h"
#include "store/s3/signer.h"

namespace forebay {

/// Address of a request.
struct S3Address {
  std::string origin;  ///< "https://host:port"
  std::string host;    ///< as in the Host header
  std::string path;    ///< percent-encoded
};

/// Returns the address of `key` ("" for the bucket itself) for a bucket in `region`. The bucket is
/// in the host's name (AWS, unless the bucket's name has dots) or in the path (other endpoints).
S3Address s3_address(const S3Options& options, const std::string& region, std::string_view key);

/// Returns the name of the server for messages: the endpoint, or "AWS (eu-central-1)".
std::string endpoint_name(const S3Options& options, const std::string& region);

}  // namespace forebay
