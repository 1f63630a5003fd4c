#include "store/http/http_url.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace forebay {
namespace {

TEST(ParseHttpUrl, takes_an_address_apart_and_decodes_nothing) {
  const HttpUrl url = parse_http_url("HTTPS://user:p%40ss@Host.Example:8443/a%20b/c?x=%2F#fragment").value();
  EXPECT_EQ(url.scheme, "https");
  EXPECT_EQ(url.user_info, "user:p%40ss");
  EXPECT_EQ(url.authority, "host.example:8443");
  EXPECT_EQ(url.target, "/a%20b/c?x=%2F");
  EXPECT_EQ(url.origin(), "https://host.example:8443");
  EXPECT_EQ(url.text(), "https://host.example:8443/a%20b/c?x=%2F");
}

TEST(ParseHttpUrl, an_at_sign_in_a_password_or_a_path_does_not_move_the_host) {
  EXPECT_EQ(parse_http_url("http://user:p@ss@host/x")->authority, "host");
  EXPECT_EQ(parse_http_url("http://user:p@ss@host/x")->user_info, "user:p@ss");
  EXPECT_EQ(parse_http_url("http://host/@scope/x@1")->authority, "host");
  EXPECT_EQ(parse_http_url("http://host?mail=a@b")->authority, "host");
}

TEST(ParseHttpUrl, what_is_no_web_address_is_refused_by_name_and_without_its_secrets) {
  for (const char* text : {"", "host/x", "ftp://host/x", "s3://bucket/x", "http:/host", "://host", "http://",
                           "http:///x", "http://u:secret@/x", "http://:80/x", "http://ho st/x", "http://host\\x/y",
                           "http://ho\nst/", "http://<host>/", "javascript:alert(1)"}) {
    const auto url = parse_http_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.status().code(), Code::kInvalidArgument);
    EXPECT_NE(url.status().message().find("is no web address"), std::string::npos) << url.status().message();
    EXPECT_EQ(url.status().message().find("secret"), std::string::npos) << url.status().message();
  }
}

TEST(ParseHttpUrl, parsed_again_is_the_same_whatever_bytes_its_path_has) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string text = "http://host/";
    for (int i = static_cast<int>(random() % 20); i > 0; --i) text += static_cast<char>(random() % 256);
    const auto once = parse_http_url(text);
    ASSERT_TRUE(once.ok()) << text;
    for (const char c : once->target) {
      ASSERT_GT(c, ' ') << "nothing that ends a line or a request";
      ASSERT_LT(static_cast<unsigned char>(c), 0x7f);
    }
    const auto again = parse_http_url(once->text());
    ASSERT_TRUE(again.ok());
    ASSERT_EQ(again->text(), once->text());
  }
}

TEST(ResolveLocation, keeps_credentials_from_going_elsewhere) {
  const HttpUrl base = parse_http_url("https://user:secret@host/a/b").value();
  for (const char* location : {"/x", "x", "?y", "//other/x", "https://other/x", "http://host/x"})
    EXPECT_EQ(resolve_location(base, location)->user_info, "") << location;
}

TEST(ResolveLocation, encodes_what_a_server_wrote_as_it_is) {
  const HttpUrl base = parse_http_url("https://host/a/b?q").value();
  EXPECT_EQ(resolve_location(base, "/ä b#frag")->text(), "https://host/%C3%A4%20b");
  EXPECT_EQ(resolve_location(base, "c d")->text(), "https://host/a/c%20d");
  EXPECT_EQ(resolve_location(base, "")->text(), "https://host/a/b");
}

TEST(ResolveLocation, leads_to_nothing_but_the_web) {
  const HttpUrl base = parse_http_url("https://host/a").value();
  for (const char* location : {"file:///etc/passwd", "ftp://host/x", "gopher://x", "//", "http://"})
    EXPECT_FALSE(resolve_location(base, location).ok()) << location;
}

TEST(UrlForMessages, never_shows_user_or_query) {
  EXPECT_EQ(url_for_messages("https://user:secret@host/x?token=secret#y"), "https://host/x?...");
  EXPECT_EQ(url_for_messages("https://se@cret@host"), "https://host");
  EXPECT_EQ(url_for_messages("user:secret@host/x"), "host/x");
  EXPECT_EQ(url_for_messages("https://host/x"), "https://host/x");
  EXPECT_EQ(url_for_messages(""), "");
}

TEST(HostAndPort, has_a_port_whether_it_was_written_or_not) {
  EXPECT_EQ(host_and_port("http://host/x"), "host:80");
  EXPECT_EQ(host_and_port("https://host"), "host:443");
  EXPECT_EQ(host_and_port("https://host:80"), "host:80");
  EXPECT_EQ(host_and_port("http://[fe80::1]:9000/"), "[fe80::1]:9000");
  EXPECT_EQ(host_and_port("https://[fe80::1]"), "[fe80::1]:443");
  EXPECT_EQ(host_and_port("no address?secret"), "no address?...");
}

}  // namespace
}  // namespace forebay
