#include "store/s3/s3_options.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/hash.h"

namespace forebay {

namespace {

constexpr std::array<std::string_view, 12> kS3OptionNames = {
    "access_key_id", "addressing_style", "anonymous",         "endpoint",      "listing_cache",    "profile",
    "region",        "requester_pays",   "secret_access_key", "session_token", "verify_checksums", "write_checksums"};

using Options = std::map<std::string, std::string>;

std::string text_option(const Options& options, const std::string& name) {
  const auto found = options.find(name);
  return found == options.end() ? "" : found->second;
}

Result<bool> bool_option(const Options& options, const std::string& name, bool otherwise) {
  std::string text = text_option(options, name);
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (text.empty()) return otherwise;
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return invalid_argument(fmt::format("storage option {}={}: use true or false", name, text));
}

std::string first_of(std::initializer_list<std::string> candidates) {
  for (const std::string& candidate : candidates) {
    if (!candidate.empty()) return candidate;
  }
  return {};
}

Result<std::string> checked_endpoint(std::string endpoint) {
  if (endpoint.empty()) return endpoint;
  const bool plain = endpoint.starts_with("http://");
  if (!plain && !endpoint.starts_with("https://")) {
    return invalid_argument(fmt::format("endpoint '{}': write it with https:// or http:// before the host", endpoint));
  }
  const size_t scheme_bytes = plain ? 7 : 8;
  while (endpoint.size() > scheme_bytes && endpoint.ends_with('/')) endpoint.pop_back();
  const std::string_view rest = std::string_view(endpoint).substr(scheme_bytes);
  if (rest.find('@') != std::string_view::npos) {
    return invalid_argument("endpoint: a user name or password stands in it; use access_key_id and secret_access_key");
  }
  if (rest.empty() || rest.find_first_of("/?#") != std::string_view::npos) {
    return invalid_argument(
        fmt::format("endpoint '{}': only a host and a port, as in https://storage.example.com:9000; "
                    "the bucket stands in the URL",
                    endpoint));
  }
  return endpoint;
}

Result<S3Options::Addressing> addressing_of(std::string_view text) {
  if (text.empty() || text == "auto") return S3Options::Addressing::kAuto;
  if (text == "path") return S3Options::Addressing::kPath;
  if (text == "virtual") return S3Options::Addressing::kVirtual;
  return invalid_argument(fmt::format("addressing_style={}: use auto, path or virtual", text));
}

std::string default_listing_cache(const AwsEnvironment& environment) {
  const std::string cache = environment.variable("XDG_CACHE_HOME"), home = environment.variable("HOME");
  if (cache.starts_with('/')) return cache + "/forebay/listings";
  return home.starts_with('/') ? home + "/.cache/forebay/listings" : "";
}

Status check_credentials(const S3Options& options) {
  const bool id = !options.access_key_id.empty(), secret = !options.secret_access_key.empty();
  if (id != secret) {
    return invalid_argument(fmt::format("storage option {} is given, but not {}; both are needed",
                                        id ? "access_key_id" : "secret_access_key",
                                        id ? "secret_access_key" : "access_key_id"));
  }
  if (!options.session_token.empty() && !id) {
    return invalid_argument("storage option session_token is given, but not access_key_id and secret_access_key");
  }
  if (options.anonymous && options.requester_pays)
    return invalid_argument(
        "storage options: requester_pays=true needs credentials, and anonymous=true is without; leave one out");
  if (options.anonymous && (id || !options.profile.empty())) {
    return invalid_argument("storage options: anonymous=true and credentials at once; leave one out");
  }
  return {};
}

}  // namespace

std::span<const std::string_view> s3_option_names() { return kS3OptionNames; }

Result<S3Options> parse_s3_options(const std::string& bucket, const Options& options,
                                   const AwsEnvironment& environment) {
  FOREBAY_RETURN_IF_ERROR(check_bucket_name(bucket));
  S3Options parsed;
  parsed.bucket = bucket;
  parsed.access_key_id = text_option(options, "access_key_id");
  parsed.secret_access_key = text_option(options, "secret_access_key");
  parsed.session_token = text_option(options, "session_token");
  parsed.profile = text_option(options, "profile");
  FOREBAY_ASSIGN(parsed.anonymous, bool_option(options, "anonymous", false));
  FOREBAY_ASSIGN(parsed.verify_checksums, bool_option(options, "verify_checksums", true));
  FOREBAY_ASSIGN(parsed.requester_pays, bool_option(options, "requester_pays", false));
  FOREBAY_RETURN_IF_ERROR(check_credentials(parsed));
  FOREBAY_ASSIGN(const AwsProfile profile, read_aws_profile(environment, parsed.profile));

  const auto variable = [&](const char* name) { return environment.variable(name); };
  FOREBAY_ASSIGN(parsed.endpoint,
                 checked_endpoint(first_of({text_option(options, "endpoint"), variable("AWS_ENDPOINT_URL_S3"),
                                            variable("AWS_ENDPOINT_URL"), profile.setting("services.s3.endpoint_url"),
                                            profile.setting("endpoint_url")})));
  parsed.region = first_of({text_option(options, "region"), variable("AWS_REGION"), variable("AWS_DEFAULT_REGION"),
                            profile.setting("region")});
  FOREBAY_ASSIGN(
      parsed.addressing,
      addressing_of(first_of({text_option(options, "addressing_style"), profile.setting("s3.addressing_style")})));
  // Enabled by default for AWS; other servers may not know these headers.
  FOREBAY_ASSIGN(parsed.write_checksums, bool_option(options, "write_checksums", parsed.endpoint.empty()));
  const auto cache = options.find("listing_cache");
  parsed.listing_cache = cache == options.end() ? default_listing_cache(environment) : cache->second;
  return parsed;
}

Status check_bucket_name(std::string_view bucket) {
  const auto refuse = [&](std::string_view why) {
    return invalid_argument(fmt::format("'{}' cannot be the name of a bucket: {}", bucket, why));
  };
  if (bucket.empty()) return invalid_argument("the URL names no bucket; write s3://bucket/folder");
  if (bucket.size() < 3 || bucket.size() > 255)
    return refuse("names have 3 to 63 characters, those of old buckets and of other servers up to 255");
  if (bucket.find('@') != std::string_view::npos || bucket.find(':') != std::string_view::npos) {
    return invalid_argument(
        "what stands between s3:// and the next slash is no bucket name: it has an '@' or ':'; credentials and "
        "endpoints do "
        "not stand in the URL: use storage_options (access_key_id, secret_access_key, endpoint)");
  }
  for (const char c : bucket) {
    const bool allowed =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    if (!allowed) return refuse("letters, digits, '-', '.' and '_' are allowed");
  }
  const auto edge = [](char c) { return c == '-' || c == '.'; };
  if (edge(bucket.front()) || edge(bucket.back())) return refuse("names begin and end with a letter or digit");
  if (bucket.find("..") != std::string_view::npos) return refuse("two dots follow each other");
  return {};
}

std::string identity(const S3Options& options, const AwsEnvironment& environment) {
  std::string credentials = fmt::format("{}\n{}\n{}\n{}\n{}", options.access_key_id, options.secret_access_key,
                                        options.session_token, options.profile, options.anonymous);
  for (const char* name :
       {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_CONFIG_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_EC2_METADATA_DISABLED"}) {
    credentials += '\n' + environment.variable(name);
  }
  return fmt::format("{} {} {} {} {} {} {} {} {}", options.bucket, options.endpoint, options.region,
                     static_cast<int>(options.addressing), options.verify_checksums, options.write_checksums,
                     options.requester_pays, options.listing_cache, hash128(credentials).to_string());
}

}  // namespace forebay
