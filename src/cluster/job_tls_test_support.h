#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "cluster/job_tls.h"
#include "store/certificates_test_support.h"

namespace forebay {

/// Certificates of hosts: "host" and "expired" are signed by the job's authority "ca", "stranger"
/// by the authority "foreign". None of them names an address of this host.
class JobCertificates {
 public:
  JobCertificates() {
    made_.make_authority("ca");
    made_.make_authority("foreign");
    made_.make("host", "ca", "DNS:elsewhere.example", 2);
    made_.make("expired", "ca", "DNS:elsewhere.example", -1);
    made_.make("stranger", "foreign", "DNS:elsewhere.example", 2);
    made_.lock("host");
  }
  std::string file(const std::string& name) const { return made_.file(name); }
  JobTlsFiles files(const std::string& name = "host", const std::string& trusted = "ca") const {
    return {file(name + ".pem"), file(name + ".key"), file(trusted + ".pem")};
  }
  std::shared_ptr<const JobTls> tls(const std::string& name = "host", const std::string& trusted = "ca") const {
    auto read = read_job_tls(files(name, trusted));
    if (!read.ok()) throw std::runtime_error(read.status().to_string());
    return std::move(*read);
  }

 private:
  TestCertificates made_;
};

}  // namespace forebay
