#pragma once

#include <curl/curl.h>

#include <string>
#include <string_view>

#include "forebay/status.h"

namespace forebay {

/// Converts the failure of a transfer to a status. `detail` is libcurl's own text; only parts of it
/// without secrets are shown. `mutual_tls`: this host presented a certificate, and the server's
/// certificate had to be signed by the authorities that were given.
Status curl_error(CURLcode code, CURL* easy, std::string_view url, std::string_view detail, bool mutual_tls = false);

}  // namespace forebay
