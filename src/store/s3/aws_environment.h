#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

/// Environment variables and files that AWS' command line and libraries read. Tests supply their
/// own.
struct AwsEnvironment {
  /// Returns an empty text if the variable is not set.
  std::function<std::string(const std::string& name)> variable;
  /// Returns the text of a file; NotFound if there is none.
  std::function<Result<std::string>(const std::string& path)> file;
};
/// Returns the environment and files of this process.
AwsEnvironment process_aws_environment();

/// The sections of an AWS INI file. Indented settings ("s3 =\n addressing_style = path") are called
/// "s3.addressing_style". Names of settings are converted to lower case.
using AwsSections = std::map<std::string, std::map<std::string, std::string>>;
/// Parses such a file. Never fails: lines that are neither section nor setting are skipped, as AWS'
/// own libraries do.
AwsSections parse_aws_file(std::string_view text);

/// The settings of one profile, from both files. The credentials file has precedence.
struct AwsProfile {
  std::string name;
  bool exists = false;
  std::map<std::string, std::string> settings;
  std::string credentials_path, config_path;

  std::string setting(const std::string& setting_name) const;
};

/// Reads the profile `asked`, or else AWS_PROFILE, or else "default". NotFound if a profile that
/// was named is in neither file.
Result<AwsProfile> read_aws_profile(const AwsEnvironment& environment, const std::string& asked);

}  // namespace forebay
