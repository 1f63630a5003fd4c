#include "cluster/address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace forebay {

TEST(Address, HostsAndPortsComeBackAsTheyWereWritten) {
  for (const std::string text : {"node7:4100", "10.0.0.7:0", "[fd00::7]:65535", "a-b.c_d.example.org:1"}) {
    const auto address = parse_host_port(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->to_string(), text);
  }
  EXPECT_EQ(parse_host_port("[fd00::7]:9")->host, "fd00::7");
}

TEST(Address, EverythingElseIsRefusedWithWhatWasExpected) {
  for (const std::string text :
       {"", ":", "host", "host:", ":80", "host:-1", "host:65536", "host:8x", "fd00::7:80", "a b:80", "user@host:80",
        "host/path:80", "[]:80", "http://host:80", "host\r\nX: y:80"}) {
    const auto address = parse_host_port(text);
    EXPECT_EQ(address.status().code(), Code::kInvalidArgument) << text;
    EXPECT_NE(address.status().message().find("host:port"), std::string::npos);
  }
}

TEST(Address, ThatOfThisHostIsOne) {
  const auto address = parse_host_port(own_host_address() + ":1");
  ASSERT_TRUE(address.ok());
  EXPECT_FALSE(is_any_address(address->host));
}

// This holds even if the host's name resolves to the loopback, as with Debian's /etc/hosts.
TEST(Address, ThatOfThisHostIsNotOfTheLoopbackWhereThereIsAnother) {
  const std::string outward = outward_address();
  if (outward.empty()) GTEST_SKIP() << "this host has no network";
  EXPECT_FALSE(outward.starts_with("127.")) << outward;
  EXPECT_FALSE(own_host_address().starts_with("127."));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  ASSERT_EQ(inet_pton(AF_INET, outward.c_str(), &at.sin_addr), 1);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0) << outward << " is not of this host";
  close(fd);
}

TEST(Address, AllInterfacesAreKnownHoweverTheyAreWritten) {
  for (const char* host : {"0.0.0.0", "0", "0x0", "::", "0:0::0", "00.0.0.0"})
    EXPECT_TRUE(is_any_address(host)) << host;
  for (const char* host : {"127.0.0.1", "::1", "localhost", "10.0.0.0"}) EXPECT_FALSE(is_any_address(host)) << host;
}

}  // namespace forebay
