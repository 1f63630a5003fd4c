#include <atomic>
#include <utility>

#include "base/shared_module.h"
#include "store/http/loaded/http_library.h"

// In libforebay.so, in place of the files that use libcurl and of openssl_digests.cc.

namespace forebay {

namespace {

Result<const HttpLibrary*> http_module() {
  static std::atomic<const HttpLibrary*> loaded = nullptr;
  static const SharedModule module{.file = "libforebay_http.so",
                                   .function = "forebay_http_v2",
                                   .needed =
                                       "http(s):// and s3:// need the module libforebay_http.so, which needs libcurl "
                                       "and OpenSSL: install libcurl4-openssl-dev, libssl-dev and libboost-dev, then "
                                       "build Forebay again if the module is missing"};
  return interface_of_module(loaded, module);
}

/// Answers every request with the reason why there is no transport.
class NoTransport final : public HttpTransport {
 public:
  explicit NoTransport(Status reason) : reason_(std::move(reason)) {}
  void send(HttpRequest, std::stop_token, Done done) override { done(reason_); }

 private:
  const Status reason_;
};

}  // namespace

std::shared_ptr<HttpTransport> curl_transport(CurlTransportOptions options) {
  Result<const HttpLibrary*> library = http_module();
  if (!library.ok()) return std::make_shared<NoTransport>(library.status());
  return (*library)->transport(options);
}

// Without the module nothing is sent and nothing arrives, so nobody sees these digests.
Sha256 sha256(std::span<const uint8_t> bytes) {
  const Result<const HttpLibrary*> library = http_module();
  return library.ok() ? (*library)->sha256(bytes) : Sha256{};
}

std::optional<Md5> md5(std::span<const uint8_t> bytes) {
  const Result<const HttpLibrary*> library = http_module();
  return library.ok() ? (*library)->md5(bytes) : std::nullopt;
}

Result<std::string> http_versions() {
  FOREBAY_ASSIGN(const HttpLibrary* const library, http_module());
  return library->versions();
}

}  // namespace forebay
