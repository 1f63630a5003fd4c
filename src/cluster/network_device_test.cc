#include "cluster/network_device.h"

#include <gtest/gtest.h>

namespace forebay {

TEST(NetworkDevice, IsTheOneThatHasTheAddress) {
  EXPECT_EQ(network_devices("127.0.0.1"), "lo");
  EXPECT_EQ(network_devices("192.0.2.1"), "") << "one of documentation";
  EXPECT_EQ(network_devices("no such host.invalid"), "");
}

}  // namespace forebay
