#include "cluster/http/loaded/peer_library.h"

extern "C" __attribute__((visibility("default"))) const forebay::PeerLibrary* forebay_peers_v1() {
  static const forebay::PeerLibrary library{&forebay::http_server, &forebay::read_job_tls,
                                            &forebay::job_tls_from_environment};
  return &library;
}
