#include "loader/describe/source_args.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "forebay/pipeline.h"
#include "loader/describe/sources.h"

namespace forebay {
namespace {

std::vector<Problem> check(std::string name, Json args, std::string attachment_name = "") {
  return check_source({std::move(name), std::move(args), nullptr, std::move(attachment_name)});
}

bool tells(const std::vector<Problem>& problems, const std::string& word) {
  return std::any_of(problems.begin(), problems.end(),
                     [&](const Problem& problem) { return problem.message.find(word) != std::string::npos; });
}

TEST(SourceArgs, valid_arguments_pass) {
  EXPECT_TRUE(check("images", {{"root", "a"}, {"split_by", "folder"}}).empty());
  EXPECT_TRUE(check("files", {{"pattern_or_list", "a/*"}}).empty());
  EXPECT_TRUE(check("files", {{"pattern_or_list", {"a", "b"}}}).empty());
  EXPECT_TRUE(check("manifest", {{"url", "a.csv"}, {"root", nullptr}}).empty());
  EXPECT_TRUE(check("arrays", {{"fields", {{"x", "x.npy"}}}}).empty());
  EXPECT_TRUE(check("dataset", {{"size", 3}}, "Squares").empty());
}

TEST(SourceArgs, unknown_missing_and_wrong_arguments_are_reported) {
  EXPECT_TRUE(tells(check("images", {{"root", "a"}, {"rot", "b"}}), "unknown argument 'rot' (did you mean 'root'?)"));
  EXPECT_TRUE(tells(check("images", Json::object()), "root is missing"));
  EXPECT_TRUE(tells(check("manifest", {{"url", 5}}), "url is 5"));
  EXPECT_TRUE(tells(check("files", {{"pattern_or_list", {1}}}), "neither a text nor a list of texts"));
  EXPECT_TRUE(tells(check("arrays", {{"fields", {{"x", 1}}}}), "does not give a .npy file"));
  EXPECT_EQ(check("files", Json::object()).front().op, "0: files");
}

TEST(SourceArgs, a_mistyped_source_lists_all_sources) {
  const std::vector<Problem> problems = check("jsnol", Json::object());
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].message, "there is no source 'jsnol' (did you mean 'jsonl'?)");
  for (const SourceDef& source : sources())
    EXPECT_NE(problems[0].remedy.find(source.name), std::string::npos) << source.name;
}

TEST(SourceArgs, missing_attachments_are_reported) {
  EXPECT_TRUE(tells(check("dataset", {{"size", 3}}), "the data set itself is missing"));
  EXPECT_TRUE(tells(check("arrays", {{"fields", {"x"}}}), "the arrays themselves are missing"));
}

TEST(SourceArgs, arrays_are_as_many_as_their_names) {
  const auto opened = [](size_t arrays) {
    std::vector<Array> given(arrays);
    for (Array& array : given) array.values = {DType::kUint8, {3}, Buffer::allocate(3)};
    const OpSpec step{
        "arrays", {{"fields", {"x", "y"}}}, std::make_shared<std::vector<Array>>(std::move(given)), "two"};
    const auto def = std::ranges::find(sources(), "arrays", &SourceDef::name);
    return def->open(step, {}).status();
  };
  EXPECT_TRUE(opened(2).ok()) << opened(2).to_string();
  for (const size_t arrays : {1, 3}) {
    EXPECT_EQ(opened(arrays).code(), Code::kInvalidArgument) << arrays;
    EXPECT_EQ(opened(arrays).message(), fmt::format("arrays: {} arrays for 2 names", arrays));
  }
}

TEST(SourceArgs, arrays_in_files_are_their_names_and_paths) {
  const OpSpec step = npy_arrays_step({{"b", "1.npy"}, {"a", "2.npy"}});
  EXPECT_TRUE(check_source(step).empty());
  const std::vector<NamedArray> arrays = named_arrays(step);
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].name, "b");
  EXPECT_EQ(arrays[1].path, "2.npy");
  EXPECT_TRUE(Description(step).to_json().ok());
}

}  // namespace
}  // namespace forebay
