#include "store/s3/aws_environment.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "store/s3/s3_test_support.h"
#include "store/scratch_folder.h"

namespace forebay {
namespace {

using Settings = std::map<std::string, std::string>;

TEST(AwsFile, is_sections_of_settings) {
  const AwsSections sections = parse_aws_file(
      "[default]\n"
      "region = eu-west-1\n"
      "output=json\r\n"
      "\n"
      "  [ other ]  # the second\n"
      "key=a=b\n"
      "[empty]\n");
  EXPECT_EQ(sections.at("default"), (Settings{{"region", "eu-west-1"}, {"output", "json"}}));
  EXPECT_EQ(sections.at("other"), (Settings{{"key", "a=b"}})) << "the first '=' divides";
  EXPECT_TRUE(sections.at("empty").empty());
  EXPECT_EQ(sections.size(), 3u);
}

TEST(AwsFile, settings_that_are_indented_belong_to_the_one_above_them_that_has_no_value) {
  const AwsSections sections = parse_aws_file(
      "[default]\n"
      "s3 =\n"
      "  addressing_style = path\n"
      "\tmax_concurrent_requests = 5\n"
      "region = x\n"
      "  not_nested = y\n");
  EXPECT_EQ(sections.at("default"), (Settings{{"s3", ""},
                                              {"s3.addressing_style", "path"},
                                              {"s3.max_concurrent_requests", "5"},
                                              {"region", "x"},
                                              {"not_nested", "y"}}));
}

// A secret may contain these characters; only after a blank do they begin a comment.
TEST(AwsFile, a_comment_behind_a_value_has_a_blank_before_it) {
  const AwsSections sections = parse_aws_file(
      "# comment = 1\n; comment = 2\n[p]\na = secret#x;y # comment\nb = secret ; comment\nc = se#cret\nd = #\n");
  EXPECT_EQ(sections.at("p"), (Settings{{"a", "secret#x;y"}, {"b", "secret"}, {"c", "se#cret"}, {"d", "#"}}));
}

TEST(AwsFile, what_is_neither_section_nor_setting_is_passed_over) {
  const AwsSections sections = parse_aws_file("before = any section\nnonsense\n[p\nx = 1\n[]\n=\n= 3\n[");
  EXPECT_EQ(sections.at("p"), (Settings{{"x", "1"}}));
  EXPECT_FALSE(sections.contains("before"));
}

// AWS' own libraries ignore the case of names, and some files rely on it.
TEST(AwsFile, names_of_settings_are_read_without_regard_to_case_and_values_as_they_are) {
  const AwsSections sections = parse_aws_file(
      "[Work]\nAWS_ACCESS_KEY_ID = AKIa\nAws_Secret_Access_Key = SeCrEt\nS3 =\n  Addressing_Style = path\n");
  EXPECT_EQ(sections.at("Work"), (Settings{{"aws_access_key_id", "AKIa"},
                                           {"aws_secret_access_key", "SeCrEt"},
                                           {"s3", ""},
                                           {"s3.addressing_style", "path"}}));
  EXPECT_FALSE(sections.contains("work")) << "names of profiles are as they are written";
}

TEST(AwsFile, of_any_bytes_never_fails) {
  std::mt19937 random(1);
  constexpr std::string_view kPieces[] = {"[", "]", "=", "\n", "\r\n", " ", "\t", "#", ";", "a", "profile x", "\0"};
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text;
    for (int i = static_cast<int>(random() % 30); i > 0; --i) text += kPieces[random() % std::size(kPieces)];
    for (const auto& [section, settings] : parse_aws_file(text))
      for (const auto& [name, value] : settings) ASSERT_EQ(value.find('\n'), std::string::npos);
  }
}

constexpr const char* kKeysFile = "/home/me/.aws/credentials";
constexpr const char* kSettingsFile = "/home/me/.aws/config";

TEST(AwsProfileFiles, the_credentials_file_wins_over_the_configuration) {
  FakeEnvironment environment;
  environment.files[kSettingsFile] =
      "[default]\nregion = a\naws_access_key_id = from config\n[profile p]\nregion = p\n";
  environment.files[kKeysFile] = "[default]\naws_access_key_id = from credentials\n[p]\nx = y\n";
  const AwsProfile profile = read_aws_profile(environment.get(), "").value();
  EXPECT_EQ(profile.name, "default");
  EXPECT_TRUE(profile.exists);
  EXPECT_EQ(profile.setting("region"), "a");
  EXPECT_EQ(profile.setting("aws_access_key_id"), "from credentials");
  EXPECT_EQ(profile.setting("nothing"), "");
  const AwsProfile other = read_aws_profile(environment.get(), "p").value();
  EXPECT_EQ(other.setting("region"), "p");
  EXPECT_EQ(other.setting("x"), "y");
  EXPECT_EQ(other.setting("aws_access_key_id"), "") << "nothing of the default profile";
}

TEST(AwsProfileFiles, a_profile_that_was_named_must_be_there_and_the_default_need_not) {
  FakeEnvironment environment;
  EXPECT_FALSE(read_aws_profile(environment.get(), "")->exists);
  environment.variables["AWS_PROFILE"] = "gone";
  const auto missing = read_aws_profile(environment.get(), "");
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  for (const char* part : {"'gone'", kKeysFile, kSettingsFile, "AWS_PROFILE"})
    EXPECT_NE(missing.status().message().find(part), std::string::npos) << missing.status().message();
  environment.files[kSettingsFile] = "[profile asked]\nregion = x\n";
  EXPECT_EQ(read_aws_profile(environment.get(), "asked")->setting("region"), "x") << "before the variable";
}

TEST(AwsProfileFiles, stand_where_the_environment_says) {
  FakeEnvironment environment;
  environment.variables["AWS_CONFIG_FILE"] = "~/elsewhere/config";
  environment.variables["AWS_SHARED_CREDENTIALS_FILE"] = "/keys";
  environment.files["/home/me/elsewhere/config"] = "[default]\nregion = there\n";
  environment.files["/keys"] = "[default]\naws_access_key_id = id\n";
  const AwsProfile profile = read_aws_profile(environment.get(), "").value();
  EXPECT_EQ(profile.config_path, "/home/me/elsewhere/config");
  EXPECT_EQ(profile.credentials_path, "/keys");
  EXPECT_EQ(profile.setting("region"), "there");
  EXPECT_EQ(profile.setting("aws_access_key_id"), "id");
}

TEST(AwsProfileFiles, that_cannot_be_read_are_an_error_and_not_as_if_they_were_empty) {
  AwsEnvironment environment = FakeEnvironment().get();
  environment.file = [](const std::string& path) -> Result<std::string> {
    return invalid_argument("larger than 1 MiB").with_key(path);
  };
  EXPECT_EQ(read_aws_profile(environment, "").status().key(), kSettingsFile);
}

TEST(ProcessAwsEnvironment, reads_files_up_to_a_mebibyte_and_tells_missing_ones_from_longer_ones) {
  const AwsEnvironment environment = process_aws_environment();
  const ScratchFolder folder;
  folder.write("small", std::string("a\0b\n", 4));
  folder.write("largest", std::string(1 << 20, 'x'));
  folder.write("longer", std::string((1 << 20) + 1, 'x'));
  EXPECT_EQ(environment.file(folder.path("small")).value(), std::string("a\0b\n", 4));
  EXPECT_EQ(environment.file(folder.path("largest"))->size(), size_t{1} << 20);
  EXPECT_EQ(environment.file(folder.path("longer")).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(environment.file(folder.path("none")).status().code(), Code::kNotFound);
  EXPECT_EQ(environment.file(folder.path("none")).status().key(), folder.path("none"));
  EXPECT_EQ(environment.variable("FOREBAY_NO_SUCH_VARIABLE"), "");
}

}  // namespace
}  // namespace forebay
