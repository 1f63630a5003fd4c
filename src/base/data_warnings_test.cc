#include "base/data_warnings.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

constexpr OmissionReason kUnread{"unread_files", "file was not read", "files were not read", "convert them"};
constexpr OmissionReason kDead{"dead_links", "link leads nowhere", "links lead nowhere", "fetch them"};

TEST(DataWarnings, each_kind_is_told_once_with_its_number_and_its_first_name) {
  DataWarnings warnings;
  EXPECT_TRUE(warnings.list().empty());
  warnings.add(kUnread, "b.tif");
  warnings.add(kDead, "x");
  warnings.add(kUnread, "a.tif", 2);
  warnings.add(kUnread, "c.tif");
  warnings.add(kUnread, "0.tif", 0);
  const auto list = warnings.list();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].message, "1 link leads nowhere ('x'); fetch them");
  EXPECT_EQ(list[1].kind, "unread_files");
  EXPECT_EQ(list[1].count, 4);
  EXPECT_EQ(list[1].first, "a.tif");
  EXPECT_EQ(list[1].message, "4 files were not read (the first is 'a.tif'); convert them");
}

}  // namespace
}  // namespace forebay
