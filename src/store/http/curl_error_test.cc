#include "store/http/curl_error.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace forebay {
namespace {

constexpr const char* kUrl = "https://user:secret@host.example/a?signature=secret";

Status error_of(CURLcode code, std::string_view detail = "") {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy(curl_easy_init(), &curl_easy_cleanup);
  return curl_error(code, easy.get(), kUrl, detail);
}

// Every message names the host, or what to check, and never a secret in the address.
TEST(CurlError, of_every_code_hides_what_is_secret_in_the_address) {
  for (int code = 1; code < CURL_LAST; ++code) {
    const Status status = error_of(static_cast<CURLcode>(code));
    EXPECT_FALSE(status.ok()) << code;
    EXPECT_FALSE(status.message().empty()) << code;
    EXPECT_EQ(status.message().find("secret"), std::string::npos) << status.message();
  }
}

TEST(CurlError, of_a_connection_may_be_tried_again_and_names_host_and_port) {
  for (const CURLcode code :
       {CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT, CURLE_RECV_ERROR, CURLE_SEND_ERROR,
        CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_HTTP2_STREAM, CURLE_SSL_CONNECT_ERROR}) {
    const Status status = error_of(code);
    EXPECT_EQ(status.code(), Code::kUnavailable) << status.to_string();
    EXPECT_NE(status.message().find("host.example:443"), std::string::npos) << status.message();
  }
}

TEST(CurlError, that_no_other_try_can_change_says_what_can) {
  const auto has = [](const Status& status, Code code, std::string_view words) {
    EXPECT_EQ(status.code(), code) << status.to_string();
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  };
  has(error_of(CURLE_SSL_CACERT_BADFILE), Code::kInvalidArgument, "ca_file");
  has(error_of(CURLE_URL_MALFORMAT), Code::kInvalidArgument, "'https://host.example/a?...' is no web address");
  has(error_of(CURLE_UNSUPPORTED_PROTOCOL), Code::kInvalidArgument, "is no web address");
  has(error_of(CURLE_OUT_OF_MEMORY), Code::kOutOfBudget, "memory");
  has(error_of(CURLE_COULDNT_RESOLVE_PROXY), Code::kUnavailable, "http_proxy");
}

TEST(CurlError, of_a_certificate_says_what_is_wrong_with_this_one) {
  const auto message = [](std::string_view detail) {
    const Status status = error_of(CURLE_PEER_FAILED_VERIFICATION, detail);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(detail), std::string::npos) << status.message();
    return status.message();
  };
  EXPECT_NE(message("certificate has expired").find("clock"), std::string::npos);
  EXPECT_NE(message("certificate is not yet valid").find("clock"), std::string::npos);
  EXPECT_NE(message("no alternative certificate subject name matches").find("host name"), std::string::npos);
  EXPECT_NE(message("unable to get local issuer certificate").find("ca_file"), std::string::npos);
}

TEST(CurlError, of_tls_tells_a_plain_server_from_one_that_wants_a_client_certificate) {
  const Status plain = error_of(CURLE_SSL_CONNECT_ERROR, "error:0A00010B:SSL routines::wrong version number");
  EXPECT_EQ(plain.code(), Code::kInvalidArgument);
  EXPECT_NE(plain.message().find("http:// instead of https://"), std::string::npos);
  const Status client = error_of(CURLE_SSL_CONNECT_ERROR, "tlsv13 alert certificate required");
  EXPECT_EQ(client.code(), Code::kInvalidArgument);
  EXPECT_NE(client.message().find("client certificate"), std::string::npos);
  EXPECT_EQ(error_of(CURLE_SSL_CONNECT_ERROR, "something else").code(), Code::kUnavailable);
}

TEST(CurlError, of_mutual_tls_tells_which_certificate_is_not_taken) {
  const auto message = [](CURLcode code, std::string_view detail) {
    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy(curl_easy_init(), &curl_easy_cleanup);
    return curl_error(code, easy.get(), kUrl, detail, /*mutual_tls=*/true).message();
  };
  EXPECT_EQ(message(CURLE_PEER_FAILED_VERIFICATION, "certificate has expired"),
            "the TLS certificate of host.example:443 is not taken (certificate has expired)");
  for (const CURLcode code : {CURLE_SSL_CONNECT_ERROR, CURLE_RECV_ERROR, CURLE_SEND_ERROR})
    EXPECT_EQ(message(code, "tlsv1 alert unknown ca"),
              "host.example:443 does not take the TLS certificate of this host (tlsv1 alert unknown ca)");
  EXPECT_EQ(message(CURLE_SSL_CONNECT_ERROR, "SSL routines::wrong version number"),
            "host.example:443 does not speak TLS, which it is asked over");
  EXPECT_NE(message(CURLE_RECV_ERROR, "tlsv1 alert internal error").find("broke off"), std::string::npos);
}

}  // namespace
}  // namespace forebay
