#include "store/s3/s3_address.h"

#include <fmt/format.h>

#include "store/percent.h"

namespace forebay {

namespace {

std::string aws_host(const std::string& region) {
  return fmt::format("s3.{}.amazonaws.com{}", region, region.starts_with("cn-") ? ".cn" : "");
}

bool is_aws(std::string_view host) {
  host = host.substr(0, host.find(':'));
  return host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
}

/// Removes the port that the scheme implies, which clients do not send either.
std::string host_and_port_of(std::string_view origin) {
  const bool plain = origin.starts_with("http://");
  std::string_view host = origin.substr(plain ? 7 : 8);
  const std::string_view implied = plain ? ":80" : ":443";
  if (host.ends_with(implied)) host.remove_suffix(implied.size());
  return std::string(host);
}

}  // namespace

S3Address s3_address(const S3Options& options, const std::string& region, std::string_view key) {
  const std::string origin = options.endpoint.empty() ? "https://" + aws_host(region) : options.endpoint;
  const size_t host_begin = origin.find("://") + 3;
  // AWS' certificate is for *.s3.<region>.amazonaws.com, and a star stands for one label.
  const bool has_dots = options.bucket.find('.') != std::string::npos;
  const bool automatic = is_aws(origin.substr(host_begin)) && !has_dots;
  const bool in_host = options.addressing == S3Options::Addressing::kVirtual ||
                       (options.addressing == S3Options::Addressing::kAuto && automatic);
  S3Address address;
  address.path += '/';
  if (in_host) {
    address.origin = origin.substr(0, host_begin) + options.bucket + "." + origin.substr(host_begin);
  } else {
    address.origin = origin;
    address.path += options.bucket;
    if (!key.empty()) address.path += '/';
  }
  // The slash stays, as S3's form of the signature requires: the path is signed as it is sent,
  // encoded once.
  address.path += percent_encode_path(key);
  address.host = host_and_port_of(address.origin);
  return address;
}

std::string endpoint_name(const S3Options& options, const std::string& region) {
  return options.endpoint.empty() ? fmt::format("AWS ({})", region) : options.endpoint;
}

}  // namespace forebay
