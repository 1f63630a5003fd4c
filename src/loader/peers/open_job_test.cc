#include "loader/peers/open_job.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

Status status_of_job(const std::vector<std::string>& addresses, int ranks) {
  PeerOptions options;
  options.addresses = addresses;
  return open_job(options, {.world_size = ranks}, {}, {}).status();
}

TEST(OpenJob, AnInvalidFolderIsRefusedForASingleRankToo) {
  for (const int ranks : {1, 2}) {
    const Status status = status_of_job({"file://relative"}, ranks);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << ranks;
    EXPECT_EQ(status.message(), "peers: 'file://relative' is no folder of this host; give file:///FOLDER");
  }
  EXPECT_TRUE(status_of_job({"file:///folder"}, 1).ok());
}

TEST(OpenJob, AFolderIsTheOnlyAddress) {
  const Status status = status_of_job({"file:///a", "file:///b"}, 2);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("'file:///a' is one of 2 addresses"), std::string::npos) << status.message();
  EXPECT_NE(status_of_job({"http://a", "b:1"}, 2).message().find("neither"), std::string::npos);
}

}  // namespace
}  // namespace forebay
