// The promises of Store, tried on real S3 servers: each data set lies in a bucket of its own.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "format/files/open_store.h"
#include "servers/variable.h"
#include "store/conformance.h"
#include "store/s3/s3_store.h"

namespace forebay::conformance {
namespace {

/// Where a server is and how it is asked; empty where it is not running.
StorageOptions server_options(const std::string& endpoint, const std::string& credentials) {
  StorageOptions options;
  if (variable(endpoint).empty()) return options;
  options["endpoint"] = variable(endpoint);
  options["access_key_id"] = variable(credentials + "_KEY");
  options["secret_access_key"] = variable(credentials + "_SECRET");
  options["region"] = "us-east-1";
  options["listing_cache"] = "";
  if (options["endpoint"].starts_with("https://")) options["ca_file"] = variable("FOREBAY_TEST_CA");
  return options;
}

Buffer buffer_of(std::string_view text) {
  Buffer buffer = Buffer::allocate(text.size());
  if (!text.empty()) std::memcpy(buffer.data(), text.data(), text.size());
  return buffer;
}

std::shared_ptr<Store> make_bucket(const StorageOptions& options, const Objects& objects) {
  static std::atomic<int> count{0};
  const std::string bucket = fmt::format("conformance-{}-{}", ::getpid(), ++count);
  const auto opened = open_store("s3://" + bucket, options);
  EXPECT_TRUE(opened.ok()) << opened.status().to_string();
  if (!opened.ok()) return nullptr;
  auto store = std::static_pointer_cast<S3Store>(opened->store);
  const Status created = store->create_bucket({});
  EXPECT_TRUE(created.ok()) << created.to_string();
  for (const auto& [key, bytes] : objects) {
    const Status written = store->put(key, buffer_of(bytes), {});
    EXPECT_TRUE(written.ok()) << written.to_string();
  }
  // A store of its own, that has counted nothing yet.
  StorageOptions fresh = options;
  fresh["profile"] = "";
  store.reset();
  return open_store("s3://" + bucket, options).value().store;
}

Driver driver(std::string name, const std::string& endpoint, const std::string& credentials) {
  const StorageOptions options = server_options(endpoint, credentials);
  if (options.empty()) return {std::move(name), nullptr};
  return {std::move(name), [options](const Objects& objects) { return make_bucket(options, objects); },
          /*only_utf8=*/true};
}

INSTANTIATE_TEST_SUITE_P(S3, StoreConformance,
                         testing::Values(driver("ceph", "FOREBAY_TEST_S3", "FOREBAY_TEST_S3"),
                                         driver("ceph_tls", "FOREBAY_TEST_S3_TLS", "FOREBAY_TEST_S3"),
                                         driver("swift", "FOREBAY_TEST_SWIFT", "FOREBAY_TEST_SWIFT")),
                         [](const auto& driver_info) { return driver_info.param.name; });

}  // namespace
}  // namespace forebay::conformance
