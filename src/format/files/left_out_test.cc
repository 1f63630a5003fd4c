#include "format/files/left_out.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(LeftOut, names_of_data_and_of_what_lies_beside_it) {
  for (const char* const name :
       {"a.tif", "a.GIF", "a", "0001", "a.parquet.gz", "x.tar", "license.tif", "a.npy", "v1.0"})
    EXPECT_TRUE(looks_like_data(name)) << name;
  for (const char* const name : {"README", "README.md", "LICENSE-2.0", "a.txt", "A.CSV", "x.sha256", ".a.tif",
                                 "_SUCCESS", "Thumbs.db", "a.jpg~", "x.tarindex", "desktop.ini"})
    EXPECT_FALSE(looks_like_data(name)) << name;
}

TEST(LeftOut, names_that_folders_may_have) {
  for (const char* const name : {"bee", "year=2024", "v1.0", "n02123"}) EXPECT_TRUE(may_name_folder(name)) << name;
  for (const char* const name : {"notes.txt", "a.jpg"}) EXPECT_FALSE(may_name_folder(name)) << name;
}

}  // namespace
}  // namespace forebay
