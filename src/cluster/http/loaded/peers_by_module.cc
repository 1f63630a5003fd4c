#include <atomic>
#include <utility>

#include "base/shared_module.h"
#include "cluster/http/loaded/peer_library.h"

// In libforebay.so, in place of http_server.cc and job_tls.cc.

namespace forebay {

namespace {

Result<const PeerLibrary*> peer_module() {
  static std::atomic<const PeerLibrary*> loaded = nullptr;
  static const SharedModule module{.file = "libforebay_http.so",
                                   .function = "forebay_peers_v1",
                                   .needed =
                                       "peers= needs the module libforebay_http.so, which needs libcurl and OpenSSL: "
                                       "install libcurl4-openssl-dev, libssl-dev and libboost-dev, then build Forebay "
                                       "again if the module is missing"};
  return interface_of_module(loaded, module);
}

}  // namespace

Result<std::unique_ptr<Listening>> http_server(const std::string& address, const JobPass& pass, Services services,
                                               HttpServerOptions options) {
  FOREBAY_ASSIGN(const PeerLibrary* const library, peer_module());
  return library->serve(address, pass, std::move(services), std::move(options));
}

Result<std::shared_ptr<const JobTls>> read_job_tls(const JobTlsFiles& files) {
  FOREBAY_ASSIGN(const PeerLibrary* const library, peer_module());
  return library->read_tls(files);
}

Result<std::shared_ptr<const JobTls>> job_tls_from_environment() {
  FOREBAY_ASSIGN(const PeerLibrary* const library, peer_module());
  return library->tls_from_environment();
}

}  // namespace forebay
