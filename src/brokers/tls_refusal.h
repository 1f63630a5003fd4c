#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forebay {

/// Returns why a server's certificate is refused, and what to do, for an error number of OpenSSL
/// (X509_V_ERR_…). `name`: the name that it should be for.
std::string certificate_refusal(int x509_error, std::string_view name);

/// Returns why a server refuses this client, and what to do, for a TLS alert that means a lasting
/// refusal. Nothing for alerts that may be transient and for other numbers. `with_certificate`: the
/// client has a certificate.
std::optional<std::string> alert_refusal(int alert, bool with_certificate);
/// Returns the number in a library's message, "…: SSL alert number 116".
std::optional<int> alert_in(std::string_view words);

}  // namespace forebay
