#include "cluster/job/job_transport.h"

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "cluster/http/http_peer_transport.h"
#include "cluster/job_tls.h"
#include "cluster/ucx/ucx_peer_transport.h"

namespace forebay {

Result<std::shared_ptr<Transport>> job_transport_from_environment() {
  FOREBAY_ASSIGN(std::shared_ptr<const JobTls> tls, job_tls_from_environment());
  const char* value = std::getenv("FOREBAY_CLUSTER_TRANSPORT");
  const std::string_view name = value == nullptr || *value == '\0' ? "http" : value;
  if (name == "http") return http_peer_transport({.tls = std::move(tls)});
  if (name != "ucx")
    return invalid_argument(
        fmt::format("FOREBAY_CLUSTER_TRANSPORT is '{}'; give \"http\" (the default) or \"ucx\"", name));
  if (tls)
    return invalid_argument(
        "FOREBAY_CLUSTER_TRANSPORT is \"ucx\", which encrypts nothing, and FOREBAY_CLUSTER_CERTIFICATE_FILE asks for "
        "TLS; "
        "unset one of them");
  return ucx_peer_transport();
}

}  // namespace forebay
