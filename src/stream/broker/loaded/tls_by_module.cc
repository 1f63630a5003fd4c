#include <atomic>

#include "base/shared_module.h"
#include "stream/broker/loaded/tls_library.h"

// In libforebay.so, in place of tls_context.cc.

namespace forebay {

Status check_tls_options(const TlsOptions& options) {
  static std::atomic<const TlsLibrary*> loaded = nullptr;
  static const SharedModule module{.file = "libforebay_http.so",
                                   .function = "forebay_tls_v1",
                                   .needed =
                                       "TLS needs the module libforebay_http.so, which needs libcurl and OpenSSL: "
                                       "install libcurl4-openssl-dev, libssl-dev and libboost-dev, then build Forebay "
                                       "again if the module is missing"};
  FOREBAY_ASSIGN(const TlsLibrary* const library, interface_of_module(loaded, module));
  return library->check(options);
}

}  // namespace forebay
