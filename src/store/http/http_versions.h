#pragma once

#include <string>

#include "forebay/result.h"

namespace forebay {

/// The libraries of HTTP, such as "libcurl 7.88.1, OpenSSL 3.0.15". Unsupported, with a remedy, if the
/// module with these libraries cannot be loaded.
Result<std::string> http_versions();

}  // namespace forebay
