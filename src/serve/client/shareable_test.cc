// Tests which pipelines and options another process can serve, and that paths mean the same there.
#include "serve/client/shareable.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "forebay/forebay.h"
#include "pipeline/op_spec.h"
#include "serve/client/absolute_paths.h"

namespace forebay {
namespace {

/// Returns the arguments of a step after its paths were made absolute in the folder /data.
Json arguments_of(const Pipeline& pipeline, size_t step) {
  const Result<Description> result = with_absolute_paths(pipeline.description(), "/data");
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return result.ok() ? result->steps()[step].args : Json();
}

TEST(AbsolutePaths, of_a_source_begin_at_the_folder) {
  EXPECT_EQ(arguments_of(images("photos").decode_image().batch(2), 0)["root"], "/data/photos");
  EXPECT_EQ(arguments_of(images("./a/../b").decode_image().batch(2), 0)["root"], "/data/./a/../b");
}

TEST(AbsolutePaths, leave_absolute_ones_and_urls_as_they_are) {
  for (const std::string place : {"/data/photos", "s3://bucket/photos", "https://host/photos/"})
    EXPECT_EQ(arguments_of(images(place).decode_image().batch(2), 0)["root"], place);
}

TEST(AbsolutePaths, reach_into_the_arguments_of_arrays) {
  const Json arguments = arguments_of(arrays({{"x", Array{{}, "a.npy"}}, {"y", Array{{}, "/b.npy"}}}).batch(2), 0);
  const std::string text = arguments.dump();
  EXPECT_NE(text.find("\"/data/a.npy\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"/b.npy\""), std::string::npos) << text;
}

TEST(AbsolutePaths, reach_into_parts_of_parts) {
  const Pipeline inner = mix({{"en", images("en")}, {"de", images("/de")}});
  const Result<Description> result =
      with_absolute_paths(mix({{"web", inner}, {"code", images("code")}}).batch(2).description(), "/data");
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  const std::vector<PipelinePart>& parts = result->steps()[0].parts;
  const std::vector<PipelinePart>& web = parts[0].pipeline.steps()[0].parts;
  EXPECT_EQ(web[0].pipeline.steps()[0].args["root"], "/data/en");
  EXPECT_EQ(web[1].pipeline.steps()[0].args["root"], "/de");
  EXPECT_EQ(parts[1].pipeline.steps()[0].args["root"], "/data/code");
}

TEST(AbsolutePaths, change_no_step_without_a_path) {
  const Pipeline pipeline = images("photos").shuffle().decode_image().resize({8, 8}).batch(2);
  const Description before = pipeline.description();
  const Result<Description> after = with_absolute_paths(before, "/data");
  ASSERT_TRUE(after.ok());
  ASSERT_EQ(after->steps().size(), before.steps().size());
  for (size_t i = 1; i < before.steps().size(); ++i) {
    EXPECT_EQ(after->steps()[i].name, before.steps()[i].name);
    EXPECT_EQ(after->steps()[i].args, before.steps()[i].args);
  }
}

TEST(Portable, pipelines_are_json_that_opens_the_same) {
  const Pipeline pipeline = images("photos").shuffle().decode_image().resize({8, 8}).batch(2);
  const Result<std::string> json = portable(pipeline);
  ASSERT_TRUE(json.ok()) << json.status().to_string();
  const Result<Pipeline> read = Pipeline::from_json(*json);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->description().steps()[0].args["root"], std::filesystem::current_path().string() + "/photos");
  EXPECT_EQ(read->description().steps().size(), pipeline.description().steps().size());
}

TEST(Portable, pipelines_have_no_user_code_and_no_arrays_in_memory) {
  const Pipeline with_function = images("photos").map([](Sample&) { return Status(); }).batch(2);
  const Pipeline in_memory = arrays({{"x", Array{Tensor::allocate(DType::kUint8, {4}), ""}}}).batch(2);
  for (const Pipeline& pipeline : {with_function, in_memory}) {
    const Status status = portable(pipeline).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find("share=None"), std::string::npos) << status.message();
  }
}

TEST(Portable, parts_have_no_user_code_either_and_are_named) {
  const Pipeline with_function = images("photos").map([](Sample&) { return Status(); });
  const Status status = portable(mix({{"web", images("a")}, {"own", with_function}}).batch(2)).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("share=None"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("'own'"), std::string::npos) << status.message();
}

TEST(Shareable, options_without_streams_and_peers_are) {
  EXPECT_TRUE(check_shared({}, {}).ok());
  EXPECT_TRUE(check_shared({.seed = 7, .epochs = 2, .job = {.rank = 0, .world_size = 4}}, {"jobs", 4, {}}).ok());
}

TEST(Shareable, numbers_of_members_have_limits) {
  for (const int together : {0, 1, 4096}) EXPECT_TRUE(check_shared({}, {"auto", together, {}}).ok()) << together;
  for (const int together : {-1, 4097})
    EXPECT_EQ(check_shared({}, {"auto", together, {}}).code(), Code::kInvalidArgument) << together;
}

TEST(Shareable, options_of_streams_and_peers_are_not_and_are_named) {
  LoaderOptions steps, journal, rehearsal, peers, gather;
  steps.stream.steps_per_epoch = 10;
  journal.stream.journal = "{}";
  rehearsal.rehearsal = "{}";
  peers.job.peers.addresses = {"host:1"};
  gather.job.peers.gather = [](const std::string&, int, int) -> Result<std::vector<std::string>> {
    return cancelled("no");
  };
  for (const auto& [options, name] :
       {std::pair(&steps, "steps_per_epoch="), std::pair(&journal, "journal="), std::pair(&rehearsal, "rehearsal="),
        std::pair(&peers, "peers="), std::pair(&gather, "peers=")}) {
    const Status status = check_shared(*options, {});
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << name;
    EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace forebay
