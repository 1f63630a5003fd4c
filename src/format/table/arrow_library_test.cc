#include "format/table/arrow_library.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

namespace fs = std::filesystem;

class ArrowLibraryTest : public testing::Test {
 protected:
  ArrowLibraryTest() : folder_(fs::path(testing::TempDir()) / "forebay_arrow_library") {
    fs::create_directories(folder_);
  }
  ~ArrowLibraryTest() override { fs::remove_all(folder_); }

  void make(const std::string& file) { std::ofstream(folder_ / file) << "made up"; }

  const fs::path folder_;
};

TEST_F(ArrowLibraryTest, TheNewestReleaseInAFolderIsFound) {
  EXPECT_FALSE(arrow_in(folder_));
  EXPECT_FALSE(arrow_in(folder_ / "missing"));
  EXPECT_FALSE(arrow_in({}));
  for (const char* file : {"libarrow.so", "libarrow.so.", "libarrow.so.26x", "libarrow.so.9999999999", "libarrow.so.-1",
                           "libarrow_python.so.2700", "libparquet.so.2700"})
    make(file);
  EXPECT_FALSE(arrow_in(folder_));
  make("libarrow.so.2600");
  make("libarrow.so.2501");
  const auto found = arrow_in(folder_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->release, 2600);
  EXPECT_EQ(found->folder, folder_);
}

TEST_F(ArrowLibraryTest, ModulesNameTheirReleases) {
  EXPECT_EQ(arrow_module(2600), "libforebay_arrow_2600.so");
  for (const char* file :
       {"libforebay_arrow.so", "libforebay_arrow_.so", "libforebay_arrow_x.so", "libforebay_sound.so"})
    make(file);
  make(arrow_module(1801));
  make(arrow_module(2600));
  const std::vector<fs::path> folders = {folder_, "", folder_ / "missing", folder_};
  EXPECT_EQ(releases_of_modules(folders), (std::vector<int>{2600, 1801}));
}

TEST(ArrowLibrary, AReleaseWithoutAModuleIsToldWithTheRemedy) {
  const std::vector<int> two = {2600, 1801}, none = {};
  const struct {
    int release;
    const std::vector<int>& known;
    std::string message;
  } cases[] = {
      {2700, two,
       "pyarrow 27.0 is installed (/there), but this Forebay was built for pyarrow 18.1, 26.0: pip install "
       "'pyarrow==26.0.*', or build Forebay with the installed one, in the folder of its source: pip install "
       "--no-build-isolation ."},
      {2000, two,
       "pyarrow 20.0 is installed (/there), but this Forebay was built for pyarrow 18.1, 26.0: pip install "
       "'pyarrow==26.0.*', or build Forebay with the installed one, in the folder of its source: pip install "
       "--no-build-isolation ."},
      {1700, two,
       "pyarrow 17.0 is installed (/there), but this Forebay was built for pyarrow 18.1, 26.0: pip install "
       "'pyarrow==26.0.*'; 18.0 is the oldest that it can be built for"},
      {17, two,
       "pyarrow 0.17 is installed (/there), but this Forebay was built for pyarrow 18.1, 26.0: pip install "
       "'pyarrow==26.0.*'; 18.0 is the oldest that it can be built for"},
      {2600, none,
       "pyarrow 26.0 is installed (/there), but this Forebay was built without pyarrow: pip install --force-reinstall "
       "'forebay[tables]'"},
  };
  for (const auto& one : cases) EXPECT_EQ(no_module_for({one.release, "/there"}, one.known), one.message);
}

}  // namespace
}  // namespace forebay
