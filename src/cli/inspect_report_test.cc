#include "cli/inspect_report.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

constexpr int64_t kPictures = 100;

void look_at(int64_t id, PictureFindings& findings) {
  findings.add_object(static_cast<uint64_t>(1000 + id));
  if (id % 5 == 0) return findings.add_unreadable(id, corrupt("made to fail"));
  ImageInfo info;
  info.format = id % 2 == 0 ? ImageFormat::kPng : ImageFormat::kJpeg;
  info.stored_width = 10 + id;
  info.stored_height = 500 - id;
  info.orientation = id == 7 ? 6 : 1;
  info.progressive = id % 4 == 1;
  findings.add_picture(info);
}

/// Returns the report of all pictures if each of n threads examines every n-th.
InspectReport report_by(int64_t threads) {
  InspectReport report;
  for (int64_t thread = threads - 1; thread >= 0; --thread) {
    PictureFindings part;
    for (int64_t id = thread; id < kPictures; id += threads) look_at(id, part);
    report.found.merge(std::move(part));
  }
  return report;
}

TEST(PictureFindings, CountsEverythingOnce) {
  const PictureFindings found = report_by(1).found;
  EXPECT_EQ(found.count, kPictures);
  EXPECT_EQ(found.bytes, 1000u * kPictures + kPictures * (kPictures - 1) / 2);
  EXPECT_EQ(found.unreadable_count, 20);
  EXPECT_EQ(found.formats, (std::map<std::string, int64_t>{{"JPEG", 40}, {"PNG", 40}}));
  EXPECT_EQ(found.rotated, 1);
  EXPECT_EQ(found.width.min, 11);
  EXPECT_EQ(found.width.max, 493) << "upright: picture 7 lies on its side";
}

TEST(PictureFindings, KeepTheFirstUnreadableOnesById) {
  const PictureFindings found = report_by(7).found;
  ASSERT_EQ(found.unreadable.size(), PictureFindings::kMaxUnreadable);
  for (size_t i = 0; i < found.unreadable.size(); ++i) EXPECT_EQ(found.unreadable[i].id, static_cast<int64_t>(5 * i));
}

TEST(PictureFindings, DoNotDependOnHowThePicturesWereDivided) {
  const std::string one = report_by(1).to_json().dump();
  for (const int64_t threads : {2, 3, 8, 100}) {
    EXPECT_EQ(report_by(threads).to_json().dump(), one) << threads;
    EXPECT_EQ(report_by(threads).to_text(), report_by(1).to_text()) << threads;
  }
}

TEST(InspectReport, SaysHowManyMoreCouldNotBeRead) {
  EXPECT_NE(report_by(1).to_text().find("and 10 more"), std::string::npos);
}

TEST(InspectReport, CanBePrintedOfNothing) {
  EXPECT_FALSE(InspectReport().to_text().empty());
  EXPECT_TRUE(InspectReport().to_json()["width"].is_null());
}

}  // namespace
}  // namespace forebay
