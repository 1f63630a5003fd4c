#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "store/s3/aws_environment.h"
#include "store/s3/credentials.h"

namespace forebay {

/// Where a bucket is and how it is asked.
struct S3Options {
  enum class Addressing : uint8_t { kAuto, kPath, kVirtual };

  std::string bucket;
  std::string endpoint;  ///< "https://host[:port]", without a slash at its end; empty for AWS
  std::string region;    ///< empty where nothing says: learned from the server
  Addressing addressing = Addressing::kAuto;
  bool verify_checksums = true;
  /// Objects are written with a checksum that the server keeps and gives to readers: AWS, and others where the option says so. (What is sent is
  /// compared with its signature by all.)
  bool write_checksums = false;
  bool requester_pays = false;  ///< says with each request that whoever reads pays for it
  /// Folder where walks keep boundaries of listings; empty for none.
  std::string listing_cache;

  // Where credentials come from.
  std::string access_key_id, secret_access_key, session_token, profile;
  bool anonymous = false;
};

/// The storage options of s3://, apart from those of HTTP.
std::span<const std::string_view> s3_option_names();

/// Of storage options (names that are not of S3 are ignored), then the environment, then the profile.
/// InvalidArgument, naming the option and what it may be. Reads files of the profile, so it may wait for a disk; asks no server.
Result<S3Options> parse_s3_options(const std::string& bucket, const std::map<std::string, std::string>& options,
                                   const AwsEnvironment& environment);

/// What AWS allows as the name of a bucket (and older names with capitals and '_' behind other endpoints).
Status check_bucket_name(std::string_view bucket);

/// Tells stores apart that must not be shared: secrets are in it only as a hash.
std::string identity(const S3Options& options, const AwsEnvironment& environment);

}  // namespace forebay
