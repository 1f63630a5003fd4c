#include "store/s3/s3_options.h"

#include <gtest/gtest.h>

#include <string>

#include "store/s3/s3_address.h"
#include "store/s3/s3_test_support.h"

namespace forebay {
namespace {

using Given = std::map<std::string, std::string>;

Result<S3Options> parsed(const Given& options, const FakeEnvironment& environment = {}) {
  return parse_s3_options("bucket", options, environment.get());
}

std::string refusal(const Given& options) {
  const auto result = parsed(options);
  EXPECT_EQ(result.status().code(), Code::kInvalidArgument);
  return result.status().message();
}

TEST(S3Endpoint, is_a_scheme_a_host_and_perhaps_a_port) {
  EXPECT_EQ(parsed({{"endpoint", "http://localhost:9000"}})->endpoint, "http://localhost:9000");
  EXPECT_EQ(parsed({{"endpoint", "https://host//"}})->endpoint, "https://host") << "slashes at its end are dropped";
  EXPECT_EQ(parsed({})->endpoint, "") << "AWS";
}

TEST(S3Endpoint, that_is_none_is_refused_with_what_one_looks_like) {
  for (const char* text : {"localhost:9000", "s3.example.com", "ftp://host", "HTTP://host", "//host"})
    EXPECT_NE(refusal({{"endpoint", text}}).find("https:// or http://"), std::string::npos) << text;
  for (const char* text :
       {"https://", "http://", "https:///", "http:////", "https://host/bucket", "http://host?x", "http://host#x"})
    EXPECT_NE(refusal({{"endpoint", text}}).find("only a host and a port"), std::string::npos) << text;
  const std::string secret = refusal({{"endpoint", "https://me:hidden@host"}});
  EXPECT_NE(secret.find("access_key_id"), std::string::npos);
  EXPECT_EQ(secret.find("hidden"), std::string::npos) << secret;
}

TEST(S3Options, truth_is_written_in_few_ways_and_others_are_refused) {
  for (const char* text : {"true", "TRUE", "True", "1"}) EXPECT_TRUE(parsed({{"anonymous", text}})->anonymous) << text;
  for (const char* text : {"false", "False", "0", ""}) EXPECT_FALSE(parsed({{"anonymous", text}})->anonymous) << text;
  for (const char* text : {"yes", "2", " true", "on"})
    EXPECT_NE(refusal({{"anonymous", text}}).find("use true or false"), std::string::npos) << text;
  EXPECT_FALSE(parsed({{"verify_checksums", "false"}})->verify_checksums);
  EXPECT_TRUE(parsed({})->verify_checksums) << "by default";
}

TEST(S3Options, the_nearest_place_that_names_a_region_or_an_endpoint_wins) {
  FakeEnvironment environment;
  environment.files["/home/me/.aws/config"] =
      "[default]\nregion = profile\nendpoint_url = http://profile\nservices = mine\n[services mine]\ns3 =\n  "
      "endpoint_url "
      "= http://service\n";
  EXPECT_EQ(parsed({}, environment)->region, "profile");
  EXPECT_EQ(parsed({}, environment)->endpoint, "http://service");
  environment.variables["AWS_DEFAULT_REGION"] = "default";
  environment.variables["AWS_ENDPOINT_URL"] = "http://all";
  EXPECT_EQ(parsed({}, environment)->region, "default");
  EXPECT_EQ(parsed({}, environment)->endpoint, "http://all");
  environment.variables["AWS_REGION"] = "region";
  environment.variables["AWS_ENDPOINT_URL_S3"] = "http://s3";
  EXPECT_EQ(parsed({}, environment)->region, "region");
  EXPECT_EQ(parsed({}, environment)->endpoint, "http://s3");
  EXPECT_EQ(parsed({{"region", "given"}, {"endpoint", "http://given"}}, environment)->region, "given");
  EXPECT_EQ(parsed({{"endpoint", "http://given"}}, environment)->endpoint, "http://given");
}

TEST(S3Options, of_addressing_are_three) {
  using Addressing = S3Options::Addressing;
  EXPECT_EQ(parsed({})->addressing, Addressing::kAuto);
  EXPECT_EQ(parsed({{"addressing_style", "path"}})->addressing, Addressing::kPath);
  EXPECT_EQ(parsed({{"addressing_style", "virtual"}})->addressing, Addressing::kVirtual);
  EXPECT_NE(refusal({{"addressing_style", "Path"}}).find("auto, path or virtual"), std::string::npos);
}

TEST(S3Options, listings_are_kept_below_the_users_cache_folder_unless_another_or_none_is_named) {
  FakeEnvironment environment;
  EXPECT_EQ(parsed({}, environment)->listing_cache, "/home/me/.cache/forebay/listings");
  environment.variables["XDG_CACHE_HOME"] = "/cache";
  EXPECT_EQ(parsed({}, environment)->listing_cache, "/cache/forebay/listings");
  environment.variables["XDG_CACHE_HOME"] = "relative";
  EXPECT_EQ(parsed({}, environment)->listing_cache, "/home/me/.cache/forebay/listings");
  EXPECT_EQ(parsed({{"listing_cache", ""}}, environment)->listing_cache, "") << "none";
  environment.variables.clear();
  EXPECT_EQ(parsed({}, environment)->listing_cache, "") << "nobody's home";
}

TEST(BucketName, has_the_characters_and_the_length_that_servers_allow) {
  for (const char* name : {"abc", "my-bucket.2", "Old_Bucket", "a.b.c", "123"})
    EXPECT_TRUE(check_bucket_name(name).ok()) << name;
  for (const std::string& name :
       {std::string("ab"), std::string(256, 'a'), std::string("-abc"), std::string("abc-"), std::string(".abc"),
        std::string("a..b"), std::string("a b c"), std::string("bücket"), std::string("a/b/c")}) {
    const Status status = check_bucket_name(name);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << name;
    EXPECT_NE(status.message().find("cannot be the name of a bucket"), std::string::npos) << status.message();
  }
}

TEST(BucketName, with_a_login_in_it_is_refused_without_showing_it) {
  const Status status = check_bucket_name("id:hidden@bucket");
  EXPECT_EQ(status.message().find("hidden"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("storage_options"), std::string::npos);
  EXPECT_NE(check_bucket_name("").message().find("s3://bucket/folder"), std::string::npos);
}

// Stores are shared by identity: two that differ in anything that decides what is read must have
// different ones.
TEST(S3Identity, differs_with_everything_that_decides_what_is_read_and_shows_no_secret) {
  FakeEnvironment environment;
  const auto of = [&](const Given& options) { return identity(*parsed(options, environment), environment.get()); };
  const std::string plain = of({});
  EXPECT_EQ(of({}), plain);
  std::vector<std::string> all = {plain};
  for (const Given& options :
       {Given{{"endpoint", "http://host"}}, Given{{"region", "x"}}, Given{{"addressing_style", "path"}},
        Given{{"verify_checksums", "false"}}, Given{{"listing_cache", ""}}, Given{{"anonymous", "true"}},
        Given{{"access_key_id", "id"}, {"secret_access_key", "hidden"}},
        Given{{"access_key_id", "id"}, {"secret_access_key", "hidden2"}},
        Given{{"access_key_id", "id"}, {"secret_access_key", "hidden"}, {"session_token", "hidden"}}}) {
    all.push_back(of(options));
  }
  for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
                           "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EC2_METADATA_DISABLED"}) {
    environment.variables[name] = "hidden";
    all.push_back(of({}));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].find("hidden"), std::string::npos) << all[i];
    for (size_t j = 0; j < i; ++j) EXPECT_NE(all[i], all[j]) << i << " and " << j;
  }
}

S3Address address(const Given& options, std::string_view key, const std::string& region = "eu-west-1",
                  const std::string& bucket = "bucket") {
  return s3_address(*parse_s3_options(bucket, options, FakeEnvironment().get()), region, key);
}

TEST(S3Address, of_aws_has_the_bucket_in_the_host_unless_its_name_has_dots) {
  const S3Address plain = address({}, "a/b.jpg");
  EXPECT_EQ(plain.origin, "https://bucket.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(plain.host, "bucket.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(plain.path, "/a/b.jpg");
  const S3Address dotted = address({}, "k", "eu-west-1", "my.bucket");
  EXPECT_EQ(dotted.origin, "https://s3.eu-west-1.amazonaws.com") << "its certificate has no such name";
  EXPECT_EQ(dotted.path, "/my.bucket/k");
  EXPECT_EQ(address({}, "k", "cn-north-1").host, "bucket.s3.cn-north-1.amazonaws.com.cn");
}

TEST(S3Address, of_other_endpoints_has_the_bucket_in_the_path_unless_told) {
  EXPECT_EQ(address({{"endpoint", "http://host:9000"}}, "k").path, "/bucket/k");
  const S3Address in_host = address({{"endpoint", "http://host:9000"}, {"addressing_style", "virtual"}}, "k");
  EXPECT_EQ(in_host.origin, "http://bucket.host:9000");
  EXPECT_EQ(in_host.path, "/k");
  EXPECT_EQ(address({{"endpoint", "https://s3.dualstack.eu-west-1.amazonaws.com"}}, "k").path, "/k") << "AWS, too";
  EXPECT_EQ(address({{"endpoint", "https://evil-amazonaws.com"}}, "k").path, "/bucket/k");
}

// The Host header is signed, so it must be what clients send; they leave out the implied port.
TEST(S3Address, leaves_out_the_port_that_the_scheme_implies) {
  EXPECT_EQ(address({{"endpoint", "http://host:80"}}, "k").host, "host");
  EXPECT_EQ(address({{"endpoint", "https://host:443"}}, "k").host, "host");
  EXPECT_EQ(address({{"endpoint", "https://host:80"}}, "k").host, "host:80");
  EXPECT_EQ(address({{"endpoint", "http://host:8080"}}, "k").host, "host:8080");
}

TEST(S3Address, of_the_bucket_itself_is_its_place_and_keys_are_encoded_but_for_slashes) {
  EXPECT_EQ(address({}, "").path, "/");
  EXPECT_EQ(address({{"endpoint", "http://host"}}, "").path, "/bucket");
  EXPECT_EQ(address({}, "a b/ü?#%+&=.jpg").path, "/a%20b/%C3%BC%3F%23%25%2B%26%3D.jpg");
  EXPECT_EQ(endpoint_name(*parsed({}), "eu-west-1"), "AWS (eu-west-1)");
  EXPECT_EQ(endpoint_name(*parsed({{"endpoint", "http://host"}}), "x"), "http://host");
}

}  // namespace
}  // namespace forebay
