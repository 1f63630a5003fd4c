#include "capi/options.h"

#include <gtest/gtest.h>

namespace forebay::capi {
namespace {

std::string refusal(std::string_view text) {
  const Result<LoaderOptions> read = options_from_json(text);
  return read.ok() ? "" : read.status().to_string();
}

TEST(Options, nothing_said_is_all_by_default) {
  for (const char* text :
       {"", " \n", "{}", R"({"seed": null, "threads": "auto", "memory": "auto", "requests": "auto"})"}) {
    const Result<LoaderOptions> read = options_from_json(text);
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(read->seed, 0u);
    EXPECT_FALSE(read->restart || read->epochs || read->resources.threads || read->resources.memory ||
                 read->resources.requests || read->errors.max_errors);
  }
}

TEST(Options, each_has_its_place) {
  const Result<LoaderOptions> read = options_from_json(R"({
    "seed": 18446744073709551615, "epochs": 3, "steps_per_epoch": 9, "rank": 1, "world_size": 4, "threads": 2, "requests": 8,
    "memory": "2GiB", "on_error": "skip", "max_errors": 0.5, "storage_options": {"endpoint": "x", "retries": 3, "verify": false},
    "shard_by": "locality", "hosts": 2, "peers": ["a:1", "b:2"], "journal": "j",
    "restart": true})");
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->seed, UINT64_MAX);
  EXPECT_EQ(read->epochs, 3);
  EXPECT_EQ(read->stream.steps_per_epoch, 9);
  EXPECT_EQ(read->job.rank, 1);
  EXPECT_EQ(read->job.world_size, 4);
  EXPECT_EQ(read->resources.threads, 2);
  EXPECT_EQ(read->resources.requests, 8);
  EXPECT_EQ(read->resources.memory, uint64_t{2} << 30);
  EXPECT_EQ(read->errors.on_error, OnError::kSkip);
  EXPECT_EQ(read->errors.max_errors->share, 0.5);
  EXPECT_EQ(read->storage_options,
            (std::map<std::string, std::string>{{"endpoint", "x"}, {"retries", "3"}, {"verify", "false"}}));
  EXPECT_EQ(read->job.shard_by, ShardBy::kLocality);
  EXPECT_EQ(read->job.hosts, 2);
  EXPECT_EQ(read->job.peers.addresses, (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_EQ(read->stream.journal, "j");
  EXPECT_TRUE(read->restart);
  EXPECT_EQ(options_from_json(R"({"max_errors": 7, "peers": "file:///meet"})")->errors.max_errors->count, 7);
}

TEST(Options, a_refusal_names_the_option_and_the_way_out) {
  EXPECT_NE(refusal(R"({"sede": 7})").find("did you mean 'seed'"), std::string::npos) << refusal(R"({"sede": 7})");
  const std::pair<const char*, const char*> cases[] = {{R"({"seed": -1})", "seed"},
                                                       {R"({"seed": 1.5})", "seed"},
                                                       {R"({"epochs": "two"})", "epochs"},
                                                       {R"({"epochs": 99999999999})", "epochs"},
                                                       {R"({"rank": -1})", "rank"},
                                                       {R"({"restart": 1})", "restart"},
                                                       {R"({"threads": 0})", "threads"},
                                                       {R"({"threads": "many"})", "auto"},
                                                       {R"({"memory": "much"})", "2GiB"},
                                                       {R"({"memory": -1})", "memory"},
                                                       {R"({"memory": 18446744073709551615})", "memory"},
                                                       {R"({"on_error": "ignore"})", "replace"},
                                                       {R"({"on_error": 1})", "on_error"},
                                                       {R"({"max_errors": 1.5})", "share"},
                                                       {R"({"max_errors": true})", "max_errors"},
                                                       {R"({"shard_by": "x"})", "locality"},
                                                       {R"({"peers": "a:1"})", "host:port"},
                                                       {R"({"peers": [1]})", "host:port"},
                                                       {R"({"storage_options": 3})", "object"},
                                                       {R"({"journal": 3})", "journal"},
                                                       {R"({"seed": 1, "seed": 2})", "twice"},
                                                       {"[]", "object"},
                                                       {"{", "object"},
                                                       {"7", "object"},
                                                       {"{\"seed\": 1} x", "object"}};
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(refusal(text).rfind("InvalidArgument: options", 0), 0u) << text << ": " << refusal(text);
    EXPECT_NE(refusal(text).find(expected), std::string::npos) << text << ": " << refusal(text);
  }
  EXPECT_NE(refusal(std::string(100'000, '[')), "");
  const std::string deep = R"({"seed": )" + std::string(500'000, '[') + std::string(500'000, ']') + "}";
  EXPECT_NE(refusal(deep).find("too deep"), std::string::npos) << "a message that shows it would not fit on the stack";
}

TEST(Options, a_message_holds_no_value_of_the_storage) {
  const std::string message = refusal(R"({"storage_options": {"secret_access_key": ["hidden"]}})");
  EXPECT_NE(message.find("secret_access_key"), std::string::npos);
  EXPECT_EQ(message.find("hidden"), std::string::npos);
}

}  // namespace
}  // namespace forebay::capi
