#pragma once

#include <memory>
#include <optional>
#include <span>

#include "forebay/result.h"
#include "store/http/curl_transport.h"
#include "store/http/http_versions.h"
#include "store/md5.h"
#include "store/sha256.h"

namespace forebay {

/// The functions that libforebay_http.so gives the stores: its function forebay_http_v2 returns it.
struct HttpLibrary {
  std::shared_ptr<HttpTransport> (*transport)(CurlTransportOptions);
  Sha256 (*sha256)(std::span<const uint8_t>);
  std::optional<Md5> (*md5)(std::span<const uint8_t>);
  decltype(&http_versions) versions;
};

}  // namespace forebay
