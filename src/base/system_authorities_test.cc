#include "base/system_authorities.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace forebay {
namespace {

class SystemAuthorities : public testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("SSL_CERT_FILE");
    ::unsetenv("SSL_CERT_DIR");
  }
};

TEST_F(SystemAuthorities, AreAFileWithCertificatesWhereTheSystemHasOne) {
  const std::string file = system_authorities();
  if (file.empty()) GTEST_SKIP() << "this system trusts no authority";
  std::ifstream stream(file);
  std::string line;
  bool found = false;
  while (!found && std::getline(stream, line)) found = line == "-----BEGIN CERTIFICATE-----";
  EXPECT_TRUE(found) << file;
}

TEST_F(SystemAuthorities, AreLeftToOpensslWhereTheEnvironmentNamesThem) {
  ::setenv("SSL_CERT_FILE", "/somewhere", 1);
  EXPECT_EQ(system_authorities(), "");
  ::unsetenv("SSL_CERT_FILE");
  ::setenv("SSL_CERT_DIR", "/somewhere", 1);
  EXPECT_EQ(system_authorities(), "");
  ::unsetenv("SSL_CERT_DIR");
}

}  // namespace
}  // namespace forebay
