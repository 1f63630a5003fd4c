#pragma once

#include <curl/curl.h>

#include <string>
#include <string_view>

#include "forebay/status.h"

namespace forebay {

/// What a failed transfer means to whoever started it. `detail` is libcurl's own text; only parts without secrets are shown. `mutual_tls`: whether a
/// certificate of ours was shown, and the server's needed the word of authorities that were given.
Status curl_error(CURLcode code, CURL* easy, std::string_view url, std::string_view detail, bool mutual_tls = false);

}  // namespace forebay
