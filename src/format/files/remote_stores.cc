#include "format/files/remote_stores.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/mutex.h"
#include "format/files/imitate_link.h"
#include "runtime/fork_guard.h"
#include "store/http/curl_transport.h"
#include "store/http/http_options.h"
#include "store/http/http_store.h"
#include "store/http/http_url.h"
#include "store/http/http_versions.h"
#include "store/http/retrying_caller.h"
#include "store/request_slots.h"
#include "store/s3/credentials_chain.h"
#include "store/s3/s3_options.h"
#include "store/s3/s3_store.h"

namespace forebay {

namespace {

/// The stores that are in use, by identity.
class Registry {
 public:
  using Make = std::function<Result<std::shared_ptr<Store>>()>;

  Result<std::shared_ptr<Store>> get(const std::string& identity, const Make& make) {
    // The identity contains credentials, which should not be in memory once more.
    const std::string name = hash128(identity).to_string();
    const Lock lock(mutex_);
    // Expired entries are removed now; otherwise a process that opens many buckets would keep an
    // entry for each.
    std::erase_if(stores_, [](const auto& entry) { return entry.second.expired(); });
    if (std::shared_ptr<Store> found = stores_[name].lock()) return found;
    FOREBAY_ASSIGN(std::shared_ptr<Store> made, make());
    stores_[name] = made;
    return made;
  }

 private:
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<Store>> stores_ FOREBAY_GUARDED_BY(mutex_);
};

// It outlives all readers when the process ends.
Registry& registry() { return of_this_process<Registry>(); }

std::vector<std::string_view> with_link_options(std::span<const std::string_view> names) {
  std::vector<std::string_view> all(names.begin(), names.end());
  all.insert(all.end(), link_option_names().begin(), link_option_names().end());
  return all;
}

/// All names and values as one text, which is only ever hashed.
std::string all_of(const StorageOptions& options) {
  std::string text;
  for (const auto& [name, value] : options) text += fmt::format("{}={}:{}\n", name, value.size(), value);
  return text;
}

Result<std::shared_ptr<HttpTransport>> open_transport() {
  // Loaded here and not per sample, where a failure could pass for a bad sample.
  FOREBAY_RETURN_IF_ERROR(http_versions().status());
  return shared_http_transport();
}

}  // namespace

Result<std::shared_ptr<Store>> open_s3_store(const std::string& bucket, const StorageOptions& options) {
  const AwsEnvironment environment = process_aws_environment();
  const std::vector<std::string_view> others = with_link_options(s3_option_names());
  FOREBAY_ASSIGN(HttpOptions http, parse_http_options(options, others));
  if (!http.headers.empty())
    return invalid_argument("storage options header_...: requests to S3 take no further headers");
  FOREBAY_ASSIGN(const S3Options s3, parse_s3_options(bucket, options, environment));
  // AWS' own variable applies to S3 only; the option takes precedence.
  if (http.connection->ca_file.empty()) {
    auto connection = std::make_shared<HttpConnectionOptions>(*http.connection);
    connection->ca_file = environment.variable("AWS_CA_BUNDLE");
    http.connection = std::move(connection);
  }
  const std::string who =
      fmt::format("s3 {} {} {}", identity(s3, environment), http.connection->ca_file, all_of(options));
  return registry().get(who, [&]() -> Result<std::shared_ptr<Store>> {
    FOREBAY_ASSIGN(const std::shared_ptr<HttpTransport> transport, open_transport());
    FOREBAY_ASSIGN(std::shared_ptr<CredentialsSource> credentials, find_credentials(s3, environment, transport));
    const auto slots = std::make_shared<RequestSlots>();
    http.caller.on_throttled = [slots] { slots->on_throttled(); };
    const std::shared_ptr<RetryingCaller> caller = retrying_caller(transport, http.caller);
    auto client = std::make_shared<S3Client>(s3, caller, std::move(credentials), http.connection);
    return std::shared_ptr<Store>(std::make_shared<S3Store>(std::move(client), caller, slots));
  });
}

Result<std::shared_ptr<Store>> open_http_store(const std::string& url, const StorageOptions& options) {
  FOREBAY_ASSIGN(const HttpUrl parsed, parse_http_url(url));
  const std::vector<std::string_view> others = with_link_options({});
  FOREBAY_ASSIGN(HttpOptions http, parse_http_options(options, others));
  // Headers may be secrets of one host. Without headers one store serves all hosts.
  const std::string origin = http.headers.empty() ? "" : parsed.origin();
  return registry().get(fmt::format("http {} {}", origin, all_of(options)), [&]() -> Result<std::shared_ptr<Store>> {
    FOREBAY_ASSIGN(std::shared_ptr<HttpTransport> transport, open_transport());
    return http_store(std::move(http), origin, std::move(transport));
  });
}

}  // namespace forebay
