#include "base/shared_module.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace forebay {
namespace {

SharedModule module(const std::string& file, const std::string& function) {
  return {.file = file, .function = function, .needed = "this needs " + file + ": install it"};
}

class SharedModuleTest : public testing::Test {
 protected:
  SharedModuleTest() : folder_(testing::TempDir() + "forebay_modules") {
    std::filesystem::create_directories(folder_);
    ::setenv("FOREBAY_MODULE_DIR", folder_.c_str(), 1);
  }
  ~SharedModuleTest() override {
    ::unsetenv("FOREBAY_MODULE_DIR");
    std::filesystem::remove_all(folder_);
  }
  const std::string folder_;
};

TEST_F(SharedModuleTest, OneThatIsMissingSaysWhatToDo) {
  const auto function = function_of_module(module("libforebay_none.so", "f"));
  EXPECT_EQ(function.status().code(), Code::kUnsupported);
  EXPECT_EQ(function.status().message(), "this needs libforebay_none.so: install it");
}

TEST_F(SharedModuleTest, OneThatCannotBeLoadedSaysWhy) {
  std::ofstream(folder_ + "/libforebay_text.so") << "no shared object";
  const auto function = function_of_module(module("libforebay_text.so", "f"));
  EXPECT_EQ(function.status().code(), Code::kUnsupported);
  EXPECT_TRUE(function.status().message().starts_with("this needs libforebay_text.so: install it (" + folder_))
      << function.status().message();
}

TEST_F(SharedModuleTest, TheLoaderOfTheSystemFindsIt) {
  const auto function = function_of_module(module("libm.so.6", "cos"));
  ASSERT_TRUE(function.ok()) << function.status().to_string();
  EXPECT_EQ(reinterpret_cast<double (*)(double)>(*function)(0.0), 1.0);
}

TEST_F(SharedModuleTest, OneOfAnotherVersionIsNotCalled) {
  const auto function = function_of_module(module("libm.so.6", "forebay_none_v1"));
  EXPECT_EQ(function.status().code(), Code::kUnsupported);
  EXPECT_NE(function.status().message().find("another version"), std::string::npos) << function.status().message();
}

}  // namespace
}  // namespace forebay
