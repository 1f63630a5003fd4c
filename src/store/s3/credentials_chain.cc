#include "store/s3/credentials_chain.h"

#include <fmt/format.h>

#include "store/s3/refreshed_credentials.h"
#include "store/s3/remote_credentials.h"

namespace forebay {

namespace {

constexpr const char* kWaysOut =
    "give access_key_id and secret_access_key as storage options, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
    "name a "
    "profile (AWS_PROFILE), or use anonymous=true for a public bucket";

Credentials keys_of(const AwsProfile& profile) {
  return {profile.setting("aws_access_key_id"),
          profile.setting("aws_secret_access_key"),
          profile.setting("aws_session_token"),
          {}};
}

Status refuse(const AwsProfile& profile, const char* setting, const char* what) {
  return invalid_argument(fmt::format(
      "the profile '{}' gets its credentials through {} ({}), which Forebay does not run; export them first: "
      "eval \"$(aws configure export-credentials --profile {} --format env)\"",
      profile.name, what, setting, profile.name));
}

/// Sources of credentials that a profile may name and that are not supported.
Status check_profile(const AwsProfile& profile) {
  const Credentials keys = keys_of(profile);
  // Checked before the keys: with a role they only serve to request the role.
  if (!profile.setting("role_arn").empty() || !profile.setting("source_profile").empty()) {
    return refuse(profile, "role_arn, source_profile", "a role");
  }
  if (keys.access_key_id.empty() != keys.secret_access_key.empty()) {
    return invalid_argument(
        fmt::format("the profile '{}' has only one of aws_access_key_id and aws_secret_access_key", profile.name));
  }
  if (!keys.access_key_id.empty()) return {};
  if (!profile.setting("credential_process").empty()) return refuse(profile, "credential_process", "a program");
  if (!profile.setting("sso_session").empty() || !profile.setting("sso_start_url").empty()) {
    return refuse(profile, "sso_session", "single sign-on");
  }
  return {};
}

/// Read again when the server calls the keys expired, because other programs renew the files.
std::shared_ptr<CredentialsSource> profile_credentials(const AwsEnvironment& environment, const std::string& asked) {
  return std::make_shared<RefreshedCredentials>([environment, asked](CredentialsSource::Done done) {
    const Result<AwsProfile> profile = read_aws_profile(environment, asked);
    done(profile.ok() ? Result<Credentials>(keys_of(*profile)) : Result<Credentials>(profile.status()));
  });
}

Result<std::shared_ptr<CredentialsSource>> of_environment(const AwsEnvironment& environment) {
  Credentials keys{environment.variable("AWS_ACCESS_KEY_ID"),
                   environment.variable("AWS_SECRET_ACCESS_KEY"),
                   environment.variable("AWS_SESSION_TOKEN"),
                   {}};
  const bool id = !keys.access_key_id.empty(), secret = !keys.secret_access_key.empty();
  if (id != secret) {
    return invalid_argument(fmt::format("{} is set, but not {}", id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                                        id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID"));
  }
  return id ? fixed_credentials(std::move(keys)) : nullptr;
}

}  // namespace

Result<std::shared_ptr<CredentialsSource>> find_credentials(const S3Options& options, const AwsEnvironment& environment,
                                                            std::shared_ptr<HttpTransport> transport) {
  if (options.anonymous) return fixed_credentials({});
  if (!options.access_key_id.empty()) {
    return fixed_credentials({options.access_key_id, options.secret_access_key, options.session_token, {}});
  }
  if (options.profile.empty()) {
    FOREBAY_ASSIGN(std::shared_ptr<CredentialsSource> found, of_environment(environment));
    if (found) return found;
  }
  if (!environment.variable("AWS_WEB_IDENTITY_TOKEN_FILE").empty() && options.profile.empty()) {
    return invalid_argument(fmt::format(
        "AWS_WEB_IDENTITY_TOKEN_FILE is set, but Forebay does not exchange web identity tokens; {}", kWaysOut));
  }
  FOREBAY_ASSIGN(const AwsProfile profile, read_aws_profile(environment, options.profile));
  // Checked before the remote sources: a profile that names a role must not silently use the
  // instance's credentials.
  FOREBAY_RETURN_IF_ERROR(check_profile(profile));
  if (!profile.setting("aws_access_key_id").empty()) return profile_credentials(environment, options.profile);
  const std::string looked = fmt::format(
      "in the storage options, in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and for the profile '{}' in {} and {}",
      profile.name, profile.credentials_path, profile.config_path);
  if (!options.profile.empty()) {
    return invalid_argument(fmt::format("the profile '{}' has no credentials in {} or {}; {}", profile.name,
                                        profile.credentials_path, profile.config_path, kWaysOut));
  }
  return remote_credentials(environment, std::move(transport), looked, kWaysOut);
}

}  // namespace forebay
