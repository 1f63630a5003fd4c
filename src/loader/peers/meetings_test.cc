#include "loader/peers/meetings.h"

#include <gtest/gtest.h>

namespace forebay {

TEST(Meetings, loaders_open_at_the_same_time_have_different_slots) {
  MeetingSlot training = reserve_meeting("/meetings-test", 0, 0);
  MeetingSlot validation = reserve_meeting("/meetings-test", 0, 0);
  EXPECT_EQ(training.number, 0);
  EXPECT_EQ(validation.number, 1);
  EXPECT_EQ(reserve_meeting("/meetings-test", 1, 0).number, 0) << "another rank of this process";
  EXPECT_EQ(reserve_meeting("/meetings-test", 0, 1).number, 0) << "another start of the job";
  EXPECT_EQ(reserve_meeting("/meetings-test-2", 0, 0).number, 0);
  training.held.reset();
  EXPECT_EQ(reserve_meeting("/meetings-test", 0, 0).number, 0) << "it was closed, and is opened anew";
  EXPECT_EQ(validation.number, 1);
}

}  // namespace forebay
