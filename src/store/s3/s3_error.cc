#include "store/s3/s3_error.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "store/s3/s3_address.h"
#include "store/s3/s3_answers.h"

namespace forebay {

namespace {

template <size_t N>
bool is_one_of(std::string_view code, const std::array<std::string_view, N>& codes) {
  return std::ranges::find(codes, code) != codes.end();
}

// The last four belong to writes: concurrent writes of one object, and bytes that did not arrive as
// they were sent.
constexpr std::array<std::string_view, 13> kTemporary = {"SlowDown",
                                                         "InternalError",
                                                         "ServiceUnavailable",
                                                         "RequestTimeout",
                                                         "OperationAborted",
                                                         "RequestThrottled",
                                                         "Throttling",
                                                         "TooManyRequests",
                                                         "RequestLimitExceeded",
                                                         "ConditionalRequestConflict",
                                                         "IncompleteBody",
                                                         "BadDigest",
                                                         "XAmzContentSHA256Mismatch"};
constexpr std::array<std::string_view, 4> kExpired = {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired",
                                                      "RequestExpired"};

/// Statuses of a server that may do better next time. A server that cannot do what was requested
/// (501), or not in this version (505), will not.
bool is_trouble(int status) {
  return status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505);
}

/// Server messages may contain anything; one line of moderate length is repeated.
std::string one_line(std::string_view text) {
  std::string line(text.substr(0, 300));
  std::ranges::replace_if(line, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return line;
}

class Judge {
 public:
  Judge(const S3RequestInfo& asked, const HttpResponse& response, S3ErrorBody error)
      : asked_(asked), response_(response), error_(std::move(error)) {}

  S3Verdict verdict() const {
    if (is_one_of(error_.code, kTemporary) || is_trouble(response_.status)) {
      return {unavailable(fmt::format("the server is busy or has a problem of its own ({})", what_it_said()))};
    }
    if (S3Verdict elsewhere = other_region(); !elsewhere.status.ok()) return elsewhere;
    if (error_.code == "RequestTimeTooSkewed") return skewed();
    if (is_one_of(error_.code, kExpired)) return expired();
    if (response_.status == 416)
      return {corrupt("shorter than expected: the range that was asked for lies behind its end")};
    if (response_.status == 404) return {missing()};
    if (response_.status == 401 || response_.status == 403) return {refused()};
    return {other()};
  }

 private:
  std::string server() const { return endpoint_name(asked_.options, asked_.region); }

  std::string what_it_said() const {
    const std::string code = one_line(error_.code), message = one_line(error_.message);
    return fmt::format("HTTP {}{}{}{}{}", response_.status, code.empty() ? "" : " ", code, message.empty() ? "" : ": ",
                       message);
  }

  S3Verdict other_region() const {
    std::string region(response_.header("x-amz-bucket-region"));
    if (region.empty()) region = error_.region;
    const bool moved = response_.status == 301 || response_.status == 307 || response_.status == 302 ||
                       error_.code == "AuthorizationHeaderMalformed" ||
                       error_.code == "IllegalLocationConstraintException";
    // The answer to a HEAD has no code; the header with the region is all there is. If it names the
    // region that was asked, the request was refused for another reason, such as an expired token.
    const bool bare = asked_.without_body && response_.status == 400 && !region.empty() && region != asked_.region;
    if (!moved && !bare) return {};
    if (!region.empty() && region != asked_.region) {
      return {invalid_argument(fmt::format("the bucket '{}' lies in the region '{}', and was asked for in '{}'",
                                           asked_.options.bucket, region, asked_.region)),
              S3Remedy::kRegion, region};
    }
    const std::string hint = error_.endpoint.empty() ? "" : fmt::format(" (it names {})", one_line(error_.endpoint));
    return {
        invalid_argument(fmt::format("{} says that the bucket '{}' must be asked for elsewhere{}: {}; give its region "
                                     "or endpoint as a storage option",
                                     server(), asked_.options.bucket, hint, what_it_said()))};
  }

  S3Verdict skewed() const {
    return {invalid_argument(fmt::format("{} refuses the request because the clocks differ", server())),
            S3Remedy::kClock, ""};
  }

  S3Verdict expired() const {
    return {invalid_argument(fmt::format(
                "the credentials have expired, says {} ({}); get new ones: session tokens last for hours only",
                server(), what_it_said())),
            S3Remedy::kCredentials, ""};
  }

  Status missing() const {
    const std::string& bucket = asked_.options.bucket;
    if (error_.code == "NoSuchBucket" || (error_.code.empty() && !asked_.object)) {
      return not_found(fmt::format("there is no bucket '{}' at {}; check its name and the endpoint", bucket, server()))
          .with_key("s3://" + bucket);
    }
    if (error_.code == "NoSuchUpload") return not_found("the multipart upload is not there any more");
    if (error_.code == "NoSuchKey" || (error_.code.empty() && asked_.without_body)) return not_found("no such object");
    return not_found(fmt::format("no such object, says {} ({})", server(), what_it_said()));
  }

  Status refused() const {
    const std::string& code = error_.code;
    if (code == "SignatureDoesNotMatch") {
      return invalid_argument(fmt::format(
          "{} does not accept the signature: the secret access key does not belong to the access key id; check "
          "secret_access_key (or AWS_SECRET_ACCESS_KEY, or the profile)",
          server()));
    }
    if (code == "InvalidAccessKeyId") {
      return invalid_argument(
          fmt::format("{} does not know the access key id; check access_key_id (or AWS_ACCESS_KEY_ID, or the profile), "
                      "and that the "
                      "endpoint is the one that it belongs to",
                      server()));
    }
    if (code == "InvalidToken" || code == "InvalidClientTokenId") {
      return invalid_argument(
          fmt::format("{} does not accept the session token; check session_token (or AWS_SESSION_TOKEN)", server()));
    }
    if (!asked_.signed_) {
      return invalid_argument(fmt::format(
          "{} refuses access without credentials (anonymous=true); this bucket is not public: give credentials{}",
          server(), asked_.options.requester_pays ? "" : ", and requester_pays=true if its readers pay"));
    }
    // Some servers (Ceph with its token service) say only this if the keys are wrong.
    const std::string also =
        asked_.options.requester_pays
            ? "or the access key id or the secret access key is wrong"
            : "or the access key id or the secret access key is wrong, or the bucket asks its readers to pay (then "
              "give the storage option requester_pays=true)";
    if (asked_.object) {
      return invalid_argument(fmt::format(
          "{} refuses access ({}): these credentials may not {} it, {}, or it does not exist and they may not list the "
          "bucket '{}'",
          server(), what_it_said(), asked_.write ? "write" : "read", also, asked_.options.bucket));
    }
    return invalid_argument(
        fmt::format("{} refuses access ({}): these credentials may not list the bucket '{}', {}; ask for "
                    "s3:ListBucket, or name the objects in a manifest (fb.manifest)",
                    server(), what_it_said(), asked_.options.bucket, also));
  }

  Status other() const {
    if (error_.code == "InvalidBucketName") {
      return invalid_argument(
          fmt::format("'{}' cannot be the name of a bucket, says {}", asked_.options.bucket, server()));
    }
    if (error_.code.empty() && response_.status == 400 && asked_.without_body) {
      return invalid_argument(fmt::format("{} refuses the request without saying why (HTTP 400)", server()));
    }
    if (error_.code.empty()) {
      return invalid_argument(fmt::format("{} answered HTTP {}, and not as an S3 server does; check the endpoint",
                                          server(), response_.status));
    }
    return invalid_argument(fmt::format("{} refuses the request ({})", server(), what_it_said()));
  }

  const S3RequestInfo& asked_;
  const HttpResponse& response_;
  const S3ErrorBody error_;
};

}  // namespace

S3Verdict judge_s3(const S3RequestInfo& asked, const HttpResponse& response) {
  const bool success = response.status >= 200 && response.status < 300;
  // The body of a read is the object, which may be an XML document called <Error>.
  if (success && !asked.write) return {};
  S3ErrorBody error = parse_s3_error(text_view(response.body));
  if (success && error.code.empty()) return {};
  return Judge(asked, response, std::move(error)).verdict();
}

}  // namespace forebay
