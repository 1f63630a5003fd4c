#include "cluster/job_tls.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "cluster/job_tls_test_support.h"

namespace forebay {

namespace {

const std::vector<std::string> kVariables = {"FOREBAY_CLUSTER_CERTIFICATE_FILE", "FOREBAY_CLUSTER_KEY_FILE",
                                             "FOREBAY_CLUSTER_CA_FILE"};

void expect_no_job_tls(const JobTlsFiles& files, const std::string& words) {
  const Status status = read_job_tls(files).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.to_string();
  EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
}

}  // namespace

TEST(JobTls, TheEnvironmentNamesAllItsFilesOrNone) {
  const JobCertificates certificates;
  const JobTlsFiles files = certificates.files();
  const std::vector<std::string> values = {files.certificate, files.key, files.authorities};
  // Tries every subset of the variables.
  for (unsigned set = 0; set < 8; ++set) {
    std::vector<std::string> missing;
    for (size_t i = 0; i < 3; ++i) {
      const bool is_set = (set >> i & 1) != 0;
      ::setenv(kVariables[i].c_str(), is_set ? values[i].c_str() : "", 1);
      if (!is_set) missing.push_back(kVariables[i]);
    }
    const auto tls = job_tls_from_environment();
    for (const std::string& variable : kVariables) ::unsetenv(variable.c_str());
    if (missing.empty() || missing.size() == 3) {
      ASSERT_TRUE(tls.ok()) << tls.status().to_string();
      EXPECT_EQ(*tls != nullptr, missing.empty());
      continue;
    }
    EXPECT_EQ(tls.status().code(), Code::kInvalidArgument);
    std::string listed;
    for (const std::string& variable : missing) listed += (listed.empty() ? "not set: " : ", ") + variable;
    EXPECT_TRUE(tls.status().message().ends_with(listed)) << tls.status().message();
  }
}

TEST(JobTls, FilesThatAreOfNoUseAreNamed) {
  const JobCertificates certificates;
  const JobTlsFiles good = certificates.files();
  const auto with = [&](std::string JobTlsFiles::* file, const std::string& name) {
    JobTlsFiles files = good;
    files.*file = certificates.file(name);
    return files;
  };
  expect_no_job_tls(
      with(&JobTlsFiles::certificate, "none.pem"),
      "FOREBAY_CLUSTER_CERTIFICATE_FILE: '" + certificates.file("none.pem") + "' cannot be read: No such");
  expect_no_job_tls(with(&JobTlsFiles::key, ""), "cannot be read: Is a directory");
  expect_no_job_tls(with(&JobTlsFiles::authorities, "host.key"), "host.key' has no certificate in PEM");
  expect_no_job_tls(with(&JobTlsFiles::certificate, "host.key"), "host.key' has no certificate in PEM");
  expect_no_job_tls(with(&JobTlsFiles::key, "host.locked"), "has a password; give a key without one");
  expect_no_job_tls(with(&JobTlsFiles::key, "stranger.key"), "is no key in PEM of the certificate");
  std::ofstream(certificates.file("broken.pem"))
      << std::ifstream(good.authorities).rdbuf() << "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  expect_no_job_tls(with(&JobTlsFiles::authorities, "broken.pem"), "broken.pem' has no certificate in PEM");
}

TEST(JobTls, FilesOfSeveralAuthoritiesAreTaken) {
  const JobCertificates certificates;
  JobTlsFiles files = certificates.files();
  files.authorities = certificates.file("both.pem");
  std::ofstream(files.authorities) << std::ifstream(certificates.file("ca.pem")).rdbuf()
                                   << std::ifstream(certificates.file("foreign.pem")).rdbuf();
  EXPECT_TRUE(read_job_tls(files).ok());
}

}  // namespace forebay
