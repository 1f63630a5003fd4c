#pragma once

#include "cluster/http/http_server.h"
#include "cluster/job_tls.h"

namespace forebay {

/// What libforebay_http.so gives the peers of a job: its function forebay_peers_v1 returns it.
struct PeerLibrary {
  decltype(&http_server) serve;
  decltype(&read_job_tls) read_tls;
  decltype(&job_tls_from_environment) tls_from_environment;
};

}  // namespace forebay
