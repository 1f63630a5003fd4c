#pragma once

#include <curl/curl.h>

#include "store/http/http_transport.h"

namespace forebay {

/// Whom a handle's servers must be to be trusted, and who we are to them.
void set_trust(CURL* easy, const HttpConnectionOptions& options);

}  // namespace forebay
