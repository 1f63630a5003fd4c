#include "store/http/http_status.h"

#include <gtest/gtest.h>

#include <string>

#include "store/http/http_date.h"

namespace forebay {
namespace {

HttpResponse of_status(int status, std::vector<HttpHeader> headers = {}) { return {status, std::move(headers), {}}; }

// Every status is one of four kinds, and only those that a retry may change are Unavailable.
TEST(HttpStatus, says_of_every_number_whether_another_try_may_help) {
  for (int status = 100; status < 600; ++status) {
    const Code code = judge_http_status(of_status(status)).code();
    if (status >= 200 && status < 300) {
      EXPECT_EQ(code, Code::kOk) << status;
    } else if (status == 408 || status == 429 || status < 200 || (status >= 500 && status != 501 && status != 505)) {
      EXPECT_EQ(code, Code::kUnavailable) << status;
    } else if (status == 404 || status == 410 || status == 414) {
      EXPECT_EQ(code, Code::kNotFound) << status;
    } else if (status == 412 || status == 416) {
      EXPECT_EQ(code, Code::kCorrupt) << status;
    } else {
      EXPECT_EQ(code, Code::kInvalidArgument) << status;
    }
  }
}

TEST(HttpStatus, names_the_number_in_every_message_so_that_it_can_be_looked_up) {
  for (int status = 300; status < 600; ++status) {
    const std::string message = judge_http_status(of_status(status)).message();
    EXPECT_NE(message.find(std::to_string(status)), std::string::npos) << message;
  }
}

TEST(HttpStatus, what_a_person_can_change_is_said_with_the_way_out) {
  const auto message = [](int status) { return judge_http_status(of_status(status)).message(); };
  EXPECT_NE(message(401).find("user:password@"), std::string::npos);
  EXPECT_NE(message(403).find("has expired"), std::string::npos);
  EXPECT_NE(message(407).find("the proxy's address"), std::string::npos);
}

TEST(HttpStatus, where_a_server_sends_to_is_shown_without_its_secrets) {
  const std::string message =
      judge_http_status(of_status(302, {{"location", "https://user:secret@host/x?signature=secret"}})).message();
  EXPECT_NE(message.find("'https://host/x?...'"), std::string::npos) << message;
  EXPECT_EQ(message.find("secret"), std::string::npos) << message;
}

TEST(HttpStatus, fewer_requests_are_asked_for_by_two_of_them) {
  for (int status = 100; status < 600; ++status)
    EXPECT_EQ(is_throttled(of_status(status)), status == 429 || status == 503) << status;
}

using std::chrono::system_clock;
constexpr int64_t kExample = 784111777;  // Sun, 06 Nov 1994 08:49:37 GMT

int64_t seconds_of(std::optional<system_clock::time_point> time) {
  return time ? std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count() : -1;
}

TEST(HttpDate, is_what_servers_write_and_nothing_else) {
  EXPECT_EQ(seconds_of(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT")), kExample);
  EXPECT_EQ(seconds_of(parse_http_date("Thu, 29 Feb 2024 00:00:00 GMT")), 1709164800);
  for (const char* text :
       {"", "now", "Sun, 06 Nov 1994", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, -6 Nov 1994 08:49:37 GMT", "784111777"}) {
    EXPECT_FALSE(parse_http_date(text)) << text;
  }
}

TEST(IsoTime, is_read_with_and_without_a_fraction) {
  EXPECT_EQ(seconds_of(parse_iso_time("1994-11-06T08:49:37Z")), kExample);
  EXPECT_EQ(seconds_of(parse_iso_time("1994-11-06T08:49:37.123456Z")), kExample);
  EXPECT_EQ(seconds_of(parse_iso_time("1994-11-06T08:49:37")), kExample);
  for (const char* text : {"", "soon", "1994-11-06", "1994-13-06T08:49:37Z", "1994-11-31T08:49:37Z",
                           "1994-11-06T24:49:37Z", "1994-11-06 08:49:37"}) {
    EXPECT_FALSE(parse_iso_time(text)) << text;
  }
}

// The clock counts nanoseconds in 64 bits, which end in 2262: "forever" must not become a time in
// the past.
TEST(IsoTime, beyond_what_the_clock_counts_is_late_and_before_the_epoch_is_none) {
  constexpr int64_t k2200 = 7258118400;
  for (const char* text :
       {"2200-01-01T00:00:00Z", "2263-01-01T00:00:00Z", "9996-02-29T12:00:00Z", "9999-12-31T23:59:59Z"})
    EXPECT_EQ(seconds_of(parse_iso_time(text)), k2200) << text;
  EXPECT_EQ(seconds_of(parse_iso_time("2199-12-31T23:59:59Z")), k2200 - 1);
  EXPECT_EQ(seconds_of(parse_http_date("Fri, 31 Dec 9999 23:59:59 GMT")), k2200);
  EXPECT_EQ(seconds_of(parse_iso_time("1970-01-01T00:00:00Z")), 0);
  for (const char* text : {"0001-01-01T00:00:00Z", "1601-01-01T00:00:00Z", "1969-12-31T23:59:59Z"})
    EXPECT_FALSE(parse_iso_time(text)) << text;
  EXPECT_FALSE(parse_http_date("Mon, 01 Jan 0001 00:00:00 GMT"));
}

// If credentials seemed valid for two hours too long, every request of those hours would fail.
TEST(IsoTime, with_an_offset_is_that_much_earlier_or_later) {
  EXPECT_EQ(seconds_of(parse_iso_time("1994-11-06T10:49:37+02:00")), kExample);
  EXPECT_EQ(seconds_of(parse_iso_time("1994-11-06T10:49:37.5+02:00")), kExample);
  EXPECT_EQ(seconds_of(parse_iso_time("1994-11-06T03:19:37-0530")), kExample);
  EXPECT_EQ(seconds_of(parse_iso_time("1994-11-06T08:49:37+00:00")), kExample);
  EXPECT_FALSE(parse_iso_time("1994-11-06T08:49:37+2"));
  EXPECT_FALSE(parse_iso_time("1994-11-06T08:49:37 tomorrow"));
}

}  // namespace
}  // namespace forebay
