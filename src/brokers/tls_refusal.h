#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forebay {

/// Why a server's certificate is not taken, and what to do: of a number of OpenSSL's (X509_V_ERR_…). `name`: whom it should be for.
std::string certificate_refusal(int x509_error, std::string_view name);

/// Why a server does not take us, and what to do, where an alert of TLS says that it never will; nothing for alerts that may pass, and for numbers that
/// are none. `with_certificate`: whether it was given one.
std::optional<std::string> alert_refusal(int alert, bool with_certificate);
/// The number in a library's words, "…: SSL alert number 116".
std::optional<int> alert_in(std::string_view words);

}  // namespace forebay
