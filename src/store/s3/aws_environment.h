#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

/// What the AWS command line and libraries read besides their arguments. Tests give one of their own.
struct AwsEnvironment {
  std::function<std::string(const std::string& name)> variable;  ///< empty where it is not set
  /// The text of a file; NotFound where there is none.
  std::function<Result<std::string>(const std::string& path)> file;
};
AwsEnvironment process_aws_environment();

/// The sections of an INI file of AWS; indented settings ("s3 =\n  addressing_style = path") are called "s3.addressing_style".
/// Names of settings are in lower case, however they are written.
using AwsSections = std::map<std::string, std::map<std::string, std::string>>;
/// Never fails: lines that are neither section nor setting are passed over, as AWS' own libraries do.
AwsSections parse_aws_file(std::string_view text);

/// The settings of one profile, from both files; the credentials file wins.
struct AwsProfile {
  std::string name;
  bool exists = false;
  std::map<std::string, std::string> settings;
  std::string credentials_path, config_path;

  std::string setting(const std::string& setting_name) const;
};

/// `asked` is a profile named in so many words; else AWS_PROFILE, else "default". A profile that was named and is in neither
/// file is NotFound.
Result<AwsProfile> read_aws_profile(const AwsEnvironment& environment, const std::string& asked);

}  // namespace forebay
