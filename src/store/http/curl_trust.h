#pragma once

#include <curl/curl.h>

#include "store/http/http_transport.h"

namespace forebay {

/// Sets which servers a handle trusts, and which certificate it presents.
void set_trust(CURL* easy, const HttpConnectionOptions& options);

}  // namespace forebay
