#include "cluster/job/job_transport.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "cluster/job_tls_test_support.h"

namespace forebay {

namespace {

class JobTransportTest : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv("FOREBAY_CLUSTER_TRANSPORT"); }
  static Result<std::shared_ptr<Transport>> named(const char* name) {
    ::setenv("FOREBAY_CLUSTER_TRANSPORT", name, 1);
    return job_transport_from_environment();
  }
};

}  // namespace

TEST_F(JobTransportTest, IsHttpUnlessAnotherIsNamed) {
  ::unsetenv("FOREBAY_CLUSTER_TRANSPORT");
  EXPECT_TRUE(job_transport_from_environment().ok());
  EXPECT_TRUE(named("http").ok());
  EXPECT_TRUE(named("").ok());
}

TEST_F(JobTransportTest, AnUnknownNameIsRefusedWithThoseThatThereAre) {
  const auto made = named("UCX");
  EXPECT_EQ(made.status().code(), Code::kInvalidArgument);
  for (const char* word : {"FOREBAY_CLUSTER_TRANSPORT", "'UCX'", "\"http\"", "\"ucx\""})
    EXPECT_NE(made.status().message().find(word), std::string::npos) << made.status().message();
}

TEST_F(JobTransportTest, UcxIsThereOrSaysWhatIsMissing) {
  const auto made = named("ucx");
#ifdef FOREBAY_WITH_UCX
  EXPECT_TRUE(made.ok()) << made.status().to_string();
#else
  EXPECT_EQ(made.status().code(), Code::kUnsupported);
  EXPECT_NE(made.status().message().find("libucx"), std::string::npos) << made.status().message();
#endif
}

}  // namespace forebay
