#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "store/s3/aws_environment.h"
#include "store/s3/credentials.h"

namespace forebay {

/// The location of a bucket, and how requests to it are made.
struct S3Options {
  enum class Addressing : uint8_t { kAuto, kPath, kVirtual };

  std::string bucket;
  std::string endpoint;  ///< "https://host[:port]", without a slash at its end; empty for AWS
  /// Empty if it is not given: it is learned from the server.
  std::string region;
  Addressing addressing = Addressing::kAuto;
  bool verify_checksums = true;
  /// Objects are written with a checksum that the server stores and returns to readers: on AWS, and
  /// elsewhere if the option says so. (All servers compare what they receive with its signature.)
  bool write_checksums = false;
  /// Each request says that the reader pays for it.
  bool requester_pays = false;
  /// Folder in which walks store boundaries of listings; empty for none.
  std::string listing_cache;

  // Sources of credentials.
  std::string access_key_id, secret_access_key, session_token, profile;
  bool anonymous = false;
};

/// Names of the storage options of s3://, except those of HTTP.
std::span<const std::string_view> s3_option_names();

/// Reads storage options (names that are not of S3 are ignored), then the environment, then the
/// profile. InvalidArgument names the option and the values it may have. Reads the profile's files,
/// so it may wait for a disk. Sends no request.
Result<S3Options> parse_s3_options(const std::string& bucket, const std::map<std::string, std::string>& options,
                                   const AwsEnvironment& environment);

/// Checks that AWS allows the bucket's name. At other endpoints, older names with capitals and '_'
/// are allowed, too.
Status check_bucket_name(std::string_view bucket);

/// Returns a text that differs for stores that must not be shared. Secrets enter it only as a hash.
std::string identity(const S3Options& options, const AwsEnvironment& environment);

}  // namespace forebay
