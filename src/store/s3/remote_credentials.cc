#include "store/s3/remote_credentials.h"

#include <arpa/inet.h>

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "store/http/http_date.h"
#include "store/http/http_url.h"
#include "store/s3/refreshed_credentials.h"
#include "store/s3/s3_answers.h"

namespace forebay {

namespace {

constexpr uint64_t kMaxAnswerBytes = 64 << 10;
constexpr int kContainerWithinMs = 5000;
// On a host that is not an instance, the error message is delayed by this time.
constexpr int kInstanceWithinMs = 1000;
constexpr int kInstanceAttempts = 2;

using Text = std::function<void(Result<std::string>)>;

/// Sends one small request to a service on this host or link, without a proxy.
void ask(HttpTransport& transport, HttpRequest request, int within_ms, Text done) {
  request.max_body_bytes = kMaxAnswerBytes;
  request.first_byte_within_ms = within_ms;
  HttpConnectionOptions connection;
  connection.connect_timeout_ms = within_ms;
  connection.stall_timeout_ms = within_ms;
  // For a proxy, link-local addresses mean another host, and secrets must not be sent there.
  connection.direct = true;
  request.connection = std::make_shared<const HttpConnectionOptions>(std::move(connection));
  transport.send(std::move(request), {}, [done = std::move(done)](Result<HttpResponse> response) {
    if (!response.ok()) return done(response.status());
    if (response->status != 200) return done(unavailable(fmt::format("HTTP {}", response->status)));
    done(std::string(text_view(response->body)));
  });
}

/// Returns whether a host is this one, given as four numbers: "127.host.example" is the name of
/// another.
bool is_loopback(const std::string& host) {
  in_addr address;
  return host.starts_with("127.") && ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

bool is_local(const std::string& host) {
  // The fixed addresses of the container services of ECS and EKS, which AWS' own clients allow.
  return host == "localhost" || is_loopback(host) || host == "[::1]" || host == "169.254.170.2" ||
         host == "169.254.170.23" || host == "[fd00:ec2::23]";
}

/// Returns the host to which the request will go, ignoring anything before an '@'; empty if it is
/// not a web address.
std::string host_of(std::string_view url) {
  const Result<HttpUrl> parts = parse_http_url(url);
  if (!parts.ok()) return {};
  const std::string& host = parts->authority;
  return host.substr(0, host.starts_with('[') ? host.find(']') + 1 : host.find(':'));
}

std::string without_line_end(std::string text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

/// Reads the container's environment. The token's file is read each time, because it changes.
class Container {
 public:
  static Result<std::unique_ptr<Container>> of(const AwsEnvironment& environment) {
    const std::string relative = environment.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    std::string url = environment.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (relative.empty() && url.empty()) return std::unique_ptr<Container>();
    if (!relative.empty()) {
      url = "http://169.254.170.2" + relative;
    } else if (!url.starts_with("https://") && !(url.starts_with("http://") && is_local(host_of(url)))) {
      return invalid_argument(
          "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https:// nor on this host; credentials do not travel "
          "unprotected");
    }
    auto container = std::make_unique<Container>();
    container->environment_ = environment;
    container->url_ = std::move(url);
    return container;
  }

  void fetch(HttpTransport& transport, CredentialsSource::Done done) const {
    Result<std::string> token = this->token();
    if (!token.ok()) return done(token.status());
    HttpRequest request;
    request.url = url_;
    request.headers.push_back({"accept", "application/json"});
    if (!token->empty()) request.headers.push_back({"authorization", std::move(*token)});
    ask(transport, std::move(request), kContainerWithinMs, [done = std::move(done)](Result<std::string> text) {
      if (text.ok()) return done(parse_credentials_json(*text));
      done(unavailable(
          fmt::format("the container's credentials endpoint (AWS_CONTAINER_CREDENTIALS_*) does not give any: {}",
                      text.status().message())));
    });
  }

 private:
  Result<std::string> token() const {
    const std::string file = environment_.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    std::string token = environment_.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    if (!file.empty()) {
      FOREBAY_ASSIGN(token, environment_.file(file));
      token = without_line_end(std::move(token));
    }
    if (token.find_first_of("\r\n") != std::string::npos) {
      return invalid_argument("the container's authorization token has several lines");
    }
    return token;
  }

  AwsEnvironment environment_;
  std::string url_;
};

/// The instance metadata service, version 2: a token, the name of the role, its credentials.
class Instance : public std::enable_shared_from_this<Instance> {
 public:
  Instance(std::string endpoint, std::shared_ptr<HttpTransport> transport, std::string nothing_found)
      : endpoint_(std::move(endpoint)), transport_(std::move(transport)), nothing_found_(std::move(nothing_found)) {}

  void fetch(CredentialsSource::Done done) { token(0, std::move(done)); }

 private:
  using Done = CredentialsSource::Done;

  void token(int attempt, Done done) {
    HttpRequest request;
    request.method = "PUT";
    request.url = endpoint_ + "/latest/api/token";
    // Six hours is the maximum; each renewal requests a new token anyway.
    request.headers.push_back({"x-aws-ec2-metadata-token-ttl-seconds", "21600"});
    ask(*transport_, std::move(request), kInstanceWithinMs,
        [self = shared_from_this(), attempt, done = std::move(done)](Result<std::string> token) mutable {
          if (token.ok()) return self->role(std::move(*token), std::move(done));
          if (attempt + 1 < kInstanceAttempts) return self->token(attempt + 1, std::move(done));
          done(invalid_argument(self->nothing_found_));
        });
  }

  HttpRequest get(const std::string& token, const std::string& role) const {
    HttpRequest request;
    request.url = endpoint_ + "/latest/meta-data/iam/security-credentials/" + role;
    request.headers.push_back({"x-aws-ec2-metadata-token", token});
    return request;
  }

  void role(std::string token, Done done) {
    ask(*transport_, get(token, ""), kInstanceWithinMs,
        [self = shared_from_this(), token, done = std::move(done)](Result<std::string> roles) mutable {
          if (!roles.ok()) return done(invalid_argument(self->nothing_found_ + " (the instance has no role)"));
          const std::string role = roles->substr(0, roles->find('\n'));
          self->credentials(std::move(token), without_line_end(role), std::move(done));
        });
  }

  void credentials(std::string token, const std::string& role, Done done) {
    ask(*transport_, get(token, role), kInstanceWithinMs, [done = std::move(done)](Result<std::string> text) {
      if (text.ok()) return done(parse_credentials_json(*text));
      done(unavailable(
          fmt::format("the instance's metadata service does not give credentials: {}", text.status().message())));
    });
  }

  const std::string endpoint_;
  const std::shared_ptr<HttpTransport> transport_;
  const std::string nothing_found_;
};

std::string instance_endpoint(const AwsEnvironment& environment) {
  std::string disabled = environment.variable("AWS_EC2_METADATA_DISABLED");
  for (char& c : disabled) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  if (disabled == "true") return {};
  std::string endpoint = environment.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint.empty() ? "http://169.254.169.254" : endpoint;
}

}  // namespace

Result<Credentials> parse_credentials_json(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto member = [&](const char* name) -> std::string {
    if (!json.is_object()) return {};
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
  };
  Credentials credentials{member("AccessKeyId"), member("SecretAccessKey"), member("Token"), {}};
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty()) {
    return corrupt("the service that gives credentials answered without AccessKeyId or SecretAccessKey");
  }
  credentials.expires = parse_iso_time(member("Expiration"));
  return credentials;
}

Result<std::shared_ptr<CredentialsSource>> remote_credentials(const AwsEnvironment& environment,
                                                              std::shared_ptr<HttpTransport> transport,
                                                              std::string looked, std::string ways_out) {
  FOREBAY_ASSIGN(std::shared_ptr<const Container> container, Container::of(environment));
  if (container) {
    return std::shared_ptr<CredentialsSource>(std::make_shared<RefreshedCredentials>(
        [container, transport](CredentialsSource::Done done) { container->fetch(*transport, std::move(done)); }));
  }
  const std::string endpoint = instance_endpoint(environment);
  const std::string instance = endpoint.empty() ? "AWS_EC2_METADATA_DISABLED keeps the instance's role out"
                                                : "the instance metadata service does not answer";
  std::string nothing = fmt::format("no credentials found: looked {}; {}; {}", looked, instance, ways_out);
  if (endpoint.empty()) return invalid_argument(nothing);
  auto service = std::make_shared<Instance>(endpoint, std::move(transport), std::move(nothing));
  return std::shared_ptr<CredentialsSource>(std::make_shared<RefreshedCredentials>(
      [service](CredentialsSource::Done done) { service->fetch(std::move(done)); }));
}

}  // namespace forebay
