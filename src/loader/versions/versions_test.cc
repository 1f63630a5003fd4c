#include "forebay/versions.h"

#include <algorithm>
#include <cctype>
#include <string>

#include <gtest/gtest.h>

#include "loader/versions/build.h"

namespace forebay {
namespace {

/// Returns whether the text is numbers with points between them.
bool is_dotted(const std::string& text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0 &&
         text.find('.') != std::string::npos && text.find_first_not_of("0123456789.") == std::string::npos;
}

TEST(Versions, EveryLibraryOfTheEngineTellsANumber) {
  const Versions all = versions();
  EXPECT_TRUE(is_dotted(all.forebay)) << all.forebay;
  ASSERT_FALSE(all.libraries.empty());
  for (const LibraryVersion& library : all.libraries)
    EXPECT_TRUE(is_dotted(library.version)) << library.name << " " << library.version;
  EXPECT_TRUE(std::ranges::is_sorted(all.libraries, {}, [](const LibraryVersion& each) {
    std::string name = each.name;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name;
  }));
}

TEST(Versions, AModuleLoadsOrSaysWhatToDo) {
  const Versions all = versions();
  ASSERT_EQ(all.modules.size(), 7U);
  for (const ModuleVersion& module : all.modules) {
    const bool is_helpful = module.detail.find("install") != std::string::npos;
    EXPECT_TRUE(module.loads || is_helpful) << module.name << ": " << module.detail;
  }
}

TEST(Versions, HttpNamesItsTwoLibraries) {
  const Versions all = versions();
  const auto http = std::ranges::find(all.modules, "http", &ModuleVersion::name);
  ASSERT_NE(http, all.modules.end());
  EXPECT_TRUE(http->loads) << http->detail;
  EXPECT_TRUE(http->detail.starts_with("libcurl ") && http->detail.find(", OpenSSL ") != std::string::npos)
      << http->detail;
}

TEST(Versions, TheCompilerIsThatOfTheseTests) {
  const std::string compiler = build().compiler;
#if defined(__clang__)
  EXPECT_TRUE(compiler.starts_with("Clang " + std::to_string(__clang_major__) + ".")) << compiler;
#else
  EXPECT_TRUE(compiler.starts_with("GNU " + std::to_string(__GNUC__) + ".")) << compiler;
#endif
}

}  // namespace
}  // namespace forebay
