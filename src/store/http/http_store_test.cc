#include "store/http/http_store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "forebay/stats/store.h"
#include "store/conformance.h"
#include "store/http/amz_checksum.h"
#include "store/http/curl_transport.h"
#include "store/http/http_url.h"
#include "store/http/keys_below_url.h"
#include "store/http/test_server.h"
#include "store/percent.h"
#include "telemetry/log.h"

namespace forebay::conformance {

namespace {

using Reply = TestServer::Reply;
using Targets = std::map<std::string, std::string>;

std::shared_ptr<Store> served(const Objects& objects) {
  Targets targets;
  for (const auto& [key, bytes] : objects) targets["/root/" + percent_encode_path(key)] = bytes;
  auto server = std::make_shared<ObjectServer>(std::move(targets));
  const std::string root = server->url("/root/");
  return std::make_shared<KeysBelowUrl>(std::move(server), root, http_store());
}

HttpOptions once() {
  HttpOptions options;
  options.caller.attempts = 1;
  options.caller.outage = options.caller.first_outage = std::chrono::milliseconds(0);
  return options;
}

HttpOptions quick() {
  HttpOptions options;
  options.caller.backoff = options.caller.longest_backoff = std::chrono::milliseconds(1);
  options.caller.longest_retry_after = std::chrono::milliseconds(1);
  return options;
}

Result<Buffer> read(Store& store, const std::string& url) { return read_wait(store, whole(url), {}); }

void expect_error(const Status& status, Code code, std::string_view words) {
  EXPECT_EQ(status.code(), code) << status.to_string();
  EXPECT_NE(status.message().find(words), std::string::npos) << status.to_string();
}

ReadRequest part(std::string key, uint64_t offset, uint64_t length) {
  ReadRequest request = whole(std::move(key));
  request.range = ByteRange{offset, length};
  return request;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Http, StoreConformance,
                         testing::Values(Driver{.name = "http", .make = served, .lists = false}));

TEST(HttpStore, CannotListAndNamesTheWayOut) {
  expect_error(list_wait(*http_store(), {"http://host/x/", "", 10}, {}).status(), Code::kUnsupported, "fb.manifest");
}

TEST(HttpStore, NoMoreIsFetchedThanWasSetAside) {
  const ObjectServer server({{"/x", std::string(500'000, 'x')}});
  const auto store = http_store();
  ReadRequest request = whole(server.url("/x"));
  request.set_aside_bytes = 1000;
  const Result<Buffer> refused = read_wait(*store, request, {});
  EXPECT_EQ(refused.status().code(), Code::kOutOfBudget) << refused.status().to_string();
  EXPECT_EQ(refused.status().bytes_needed(), 500'000u);
  request.set_aside_bytes = 500'000;
  EXPECT_TRUE(read_wait(*store, request, {}).ok());
}

TEST(HttpStore, MoreIsSetAsideOnTheWayWhereTheReaderHasMore) {
  const ObjectServer server({{"/x", std::string(500'000, 'x')}});
  const auto store = http_store();
  std::atomic<uint64_t> asked = 0;
  ReadRequest request = whole(server.url("/x"));
  request.set_aside_bytes = 1000;
  request.set_aside = [&](uint64_t bytes) {
    asked = bytes;
    return bytes <= 600'000;
  };
  EXPECT_EQ(text_of(read_wait(*store, request, {}).value()).size(), 500'000u);
  EXPECT_EQ(asked, 500'000u);
  EXPECT_EQ(store->stats().requests, 1u);
  request.set_aside = [](uint64_t) { return false; };
  EXPECT_EQ(read_wait(*store, request, {}).status().code(), Code::kOutOfBudget);
}

TEST(HttpStore, AnObjectThatChangesIsCorruptAndNamed) {
  ObjectServer server(Targets{{"/x", "0123456789"}, {"/y", "1"}});
  const auto store = http_store();
  ASSERT_EQ(text_of(read_wait(*store, part(server.url("/x"), 0, 5), {}).value()), "01234");
  server.set("/x", "abcdefghij");
  const auto answer = read_wait(*store, part(server.url("/x"), 5, 5), {});
  expect_error(answer.status(), Code::kCorrupt, "changed while it was read");
  EXPECT_EQ(answer.status().key(), server.url("/x"));
  expect_error(read(*store, server.url("/x")).status(), Code::kCorrupt, "changed while it was read");
  expect_error(stat_wait(*store, server.url("/x"), {}).status(), Code::kCorrupt, "changed while it was read");
  EXPECT_TRUE(read(*store, server.url("/y")).ok());
  EXPECT_TRUE(read(*http_store(), server.url("/x")).ok()) << "another store has seen nothing yet";
}

TEST(HttpStore, WithoutAnETagTheSizeTells) {
  std::string bytes = "12345";
  TestServer server([&](const TestServer::Request&) { return Reply{TestServer::ok(bytes, "ETag: W/\"1\"\r\n")}; });
  const auto store = http_store();
  ASSERT_TRUE(read(*store, server.url("/")).ok());
  bytes = "123456";
  expect_error(read(*store, server.url("/")).status(), Code::kCorrupt, "changed while it was read");
}

TEST(HttpStore, TellsWhichVersionItGaveToWhoAsks) {
  ObjectServer server(Targets{{"/x", "0123456789"}});
  const auto version_of = [&](ReadRequest request) {
    request.version = std::make_shared<std::atomic<uint64_t>>(0);
    const auto answer = read_wait(*http_store(once()), request, {});
    EXPECT_TRUE(answer.ok()) << answer.status().to_string();
    if (request.version_only) {
      EXPECT_EQ(answer->size(), 0u);
    }
    return request.version->load();
  };
  ReadRequest alone = whole(server.url("/x"));
  alone.version_only = true;
  const uint64_t version = version_of(whole(server.url("/x")));
  EXPECT_NE(version, 0u);
  EXPECT_EQ(version_of(part(server.url("/x"), 2, 3)), version);
  EXPECT_EQ(version_of(alone), version);
  EXPECT_EQ(stat_wait(*http_store(), server.url("/x"), {}).value().version, version) << "as listings would have it";
  server.set("/x", "abcdefghij");
  EXPECT_NE(version_of(alone), version);
  alone.key = server.url("/none");
  EXPECT_EQ(version_of(alone), 0u) << "that there is none is for whoever reads it to hear";
}

TEST(HttpStore, AServerThatIsAwayTellsNoVersionAndThatIsAnError) {
  TestServer server([](const TestServer::Request&) { return Reply{TestServer::status(503)}; });
  ReadRequest request = whole(server.url("/x"));
  request.version_only = true;
  EXPECT_EQ(read_wait(*http_store(once()), request, {}).status().code(), Code::kUnavailable);
}

TEST(HttpStore, TakesThePartFromAServerThatKnowsNoRanges) {
  TestServer server([](const TestServer::Request& r) {
    if (r.target == "/huge") return Reply{"HTTP/1.1 200 OK\r\nContent-Length: 900000000\r\n\r\nx", Reply::kHang};
    return Reply{TestServer::ok("0123456789")};
  });
  const auto store = http_store();
  EXPECT_EQ(text_of(read_wait(*store, part(server.url("/"), 3, 4), {}).value()), "3456");
  expect_error(read_wait(*store, part(server.url("/"), 8, 4), {}).status(), Code::kCorrupt, "shorter than expected");
  expect_error(read_wait(*store, part(server.url("/huge"), 3, 4), {}).status(), Code::kUnsupported,
               "does not know byte ranges");
}

TEST(HttpStore, AnotherPartThanAskedForIsNotTaken) {
  TestServer server([](const TestServer::Request& r) {
    const char* range = r.number == 0 ? "bytes 0-3/10" : "bytes 3-6/10";
    return Reply{fmt::format("HTTP/1.1 206 X\r\nContent-Length: 4\r\nContent-Range: {}\r\n\r\nabcd", range)};
  });
  EXPECT_EQ(text_of(read_wait(*http_store(quick()), part(server.url("/"), 3, 4), {}).value()), "abcd");
  EXPECT_EQ(server.requests(), 2);
}

TEST(HttpStore, FindsSizesWhereHeadIsRefused) {
  for (const int refusal : {403, 405, 501}) {
    TestServer server([&](const TestServer::Request& r) {
      if (r.method == "HEAD") return Reply{fmt::format("HTTP/1.1 {} X\r\nContent-Length: 0\r\n\r\n", refusal)};
      return Reply{"HTTP/1.1 206 X\r\nContent-Length: 1\r\nContent-Range: bytes 0-0/777\r\n\r\nx"};
    });
    EXPECT_EQ(stat_wait(*http_store(), server.url("/x"), {}).value().size, 777u) << refusal;
  }
  TestServer no_length([](const TestServer::Request& r) {
    return Reply{r.method == "HEAD" ? "HTTP/1.1 200 OK\r\n\r\n" : TestServer::ok("12345"), Reply::kClose};
  });
  EXPECT_EQ(stat_wait(*http_store(), no_length.url("/x"), {}).value().size, 5u);
}

TEST(HttpStore, FindsEmptyObjectsWhereHeadIsRefused) {
  TestServer server([](const TestServer::Request& r) {
    if (r.method == "HEAD") return Reply{TestServer::status(405)};
    if (r.header("range").empty()) return Reply{TestServer::ok("", "ETag: \"of nothing\"\r\n")};
    const int bytes = r.target == "/empty" ? 0 : 7;
    return Reply{TestServer::status(416, fmt::format("Content-Range: bytes */{}\r\n", bytes), "no range!")};
  });
  const auto store = http_store(quick());
  EXPECT_EQ(stat_wait(*store, server.url("/empty"), {}).value().size, 0u);
  EXPECT_EQ(text_of(read(*store, server.url("/empty")).value()), "");
  EXPECT_EQ(read_wait(*store, part(server.url("/empty"), 0, 0), {}).value().size(), 0u);
  expect_error(read_wait(*store, part(server.url("/empty"), 0, 4), {}).status(), Code::kCorrupt,
               "shorter than expected");
  expect_error(stat_wait(*store, server.url("/other"), {}).status(), Code::kCorrupt, "416");
}

TEST(HttpStore, CutBodiesAreFetchedAgain) {
  TestServer server([](const TestServer::Request& r) {
    if (r.number < 3) return Reply{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234", Reply::kClose};
    return Reply{TestServer::ok("0123456789")};
  });
  const auto store = http_store(quick());
  EXPECT_EQ(text_of(read(*store, server.url("/")).value()), "0123456789");
  EXPECT_EQ(store->stats().retries, 3u);
}

TEST(HttpStore, ChecksumsAreVerified) {
  const std::string md5_of_hello = "XUFAKrxLKna5cZ2REBfFkg==";
  TestServer server([&](const TestServer::Request& r) {
    const bool wrong = r.target == "/never" || r.number == 0;
    const std::string header = r.target == "/digest"
                                   ? "Repr-Digest: sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:\r\n"
                                   : "Content-MD5: " + md5_of_hello + "\r\n";
    return Reply{TestServer::ok(wrong ? "hellO" : "hello", header)};
  });
  const auto store = http_store(quick());
  EXPECT_EQ(text_of(read(*store, server.url("/once")).value()), "hello");
  EXPECT_EQ(server.requests(), 2);
  EXPECT_EQ(text_of(read(*store, server.url("/digest")).value()), "hello");
  EXPECT_EQ(server.requests(), 3);
  expect_error(read(*store, server.url("/never")).status(), Code::kCorrupt, "checksum");
  EXPECT_EQ(server.requests(), 6);
}

TEST(HttpStore, FollowsRedirectsWithoutTakingSecretsAlong) {
  std::string seen_elsewhere, seen_here;
  TestServer elsewhere([&](const TestServer::Request& r) {
    seen_elsewhere = r.head;
    return Reply{TestServer::ok("there")};
  });
  TestServer server([&](const TestServer::Request& r) {
    if (r.target == "/round") return Reply{TestServer::status(302, "Location: /round\r\n")};
    if (r.target == "/a/down") return Reply{TestServer::status(301, "Location: ../x?y z\r\n")};
    if (r.target == "/a/away") return Reply{TestServer::status(307, "Location: " + elsewhere.url("/there") + "\r\n")};
    seen_here = r.head;
    return Reply{TestServer::ok(r.target)};
  });
  HttpOptions options = once();
  options.headers = {{"X-Token", "s3cret"}};
  const auto store = http_store(options);
  const std::string with_login = "http://user:pa%20ss@" + server.url("").substr(7);
  EXPECT_EQ(text_of(read(*store, with_login + "/a/down").value()), "/a/../x?y%20z");
  EXPECT_NE(seen_here.find("X-Token: s3cret"), std::string::npos);
  EXPECT_NE(seen_here.find("Authorization: Basic dXNlcjpwYSBzcw=="), std::string::npos) << seen_here;
  EXPECT_EQ(text_of(read(*store, with_login + "/a/away").value()), "there");
  EXPECT_EQ(seen_elsewhere.find("s3cret"), std::string::npos);
  EXPECT_EQ(seen_elsewhere.find("Authorization"), std::string::npos);
  expect_error(read(*store, server.url("/round")).status(), Code::kInvalidArgument, "more than 5 redirects");
  EXPECT_EQ(read(*store, with_login + "/round").status().to_string().find("pa%20ss"), std::string::npos);
}

TEST(HttpStore, HeadersForOneHostStayThere) {
  std::string seen;
  TestServer server([&](const TestServer::Request& r) {
    seen = r.head;
    return Reply{TestServer::ok("x")};
  });
  HttpOptions options = once();
  options.headers = {{"X-Token", "s3cret"}};
  ASSERT_TRUE(read(*http_store(options, server.url("")), server.url("/")).ok());
  EXPECT_NE(seen.find("s3cret"), std::string::npos);
  ASSERT_TRUE(read(*http_store(options, "https://other.example"), server.url("/")).ok());
  EXPECT_EQ(seen.find("s3cret"), std::string::npos);
}

TEST(HttpStore, StatusesAreToldInWords) {
  int status = 0;
  TestServer server([&](const TestServer::Request&) { return Reply{TestServer::status(status)}; });
  const auto store = http_store(once());
  const auto refused = [&](int code) {
    status = code;
    return read(*store, server.url("/x?signature=s3cret")).status();
  };
  expect_error(refused(404), Code::kNotFound, "no such object");
  expect_error(refused(410), Code::kNotFound, "no such object");
  expect_error(refused(401), Code::kInvalidArgument, "user:password@");
  expect_error(refused(403), Code::kInvalidArgument, "access denied");
  expect_error(refused(407), Code::kInvalidArgument, "proxy");
  expect_error(refused(412), Code::kCorrupt, "changed");
  expect_error(refused(418), Code::kInvalidArgument, "418");
  for (const int code : {408, 429, 500, 502, 503, 504, 507, 520})
    expect_error(refused(code), Code::kUnavailable, std::to_string(code));
  EXPECT_EQ(refused(404).key(), server.url("/x?..."));
}

TEST(HttpStore, WhatIsNoAddressIsRefused) {
  const auto store = http_store();
  for (const std::string key : {"x", "ftp://host/x", "http://", "http:///x", "http://a b/x"}) {
    expect_error(read(*store, key).status(), Code::kInvalidArgument, "no web address");
  }
}

TEST(HttpStore, TheEndOfAStoreEndsItsRequests) {
  TestServer server([](const TestServer::Request&) { return Reply{"", Reply::kHang}; });
  const auto transport = shared_http_transport();  // outlives the store
  auto store = http_store();
  Answers<Buffer> answers;
  for (int i = 0; i < 100; ++i) store->read(whole(server.url("/")), {}, answers.take());
  while (server.requests() < 100) std::this_thread::yield();
  store.reset();
  EXPECT_EQ(answers.codes(), std::vector<Code>(100, Code::kCancelled));
}

TEST(HttpStore, ItsIdleMemoryIsThatOfItsTransport) {
  ASSERT_NE(shared_http_transport()->idle_memory(), nullptr);
  EXPECT_EQ(http_store()->idle_memory(), shared_http_transport()->idle_memory());
}

TEST(HttpStore, AForkIsToldAndDoesNotHang) {
  ObjectServer server(Targets{{"/x", "1"}});
  auto store = http_store();
  ASSERT_TRUE(read(*store, server.url("/x")).ok());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);
    const bool refused = read(*store, server.url("/x")).status().code() == Code::kInvalidArgument;
    store.reset();
    const bool works = !kChildMayStartThreads || read(*http_store(), server.url("/x")).ok();
    ::_exit(refused && works ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(read(*store, server.url("/x")).ok());
}

TEST(HttpUrl, OddCharactersAreEncodedAndEncodedOnesStay) {
  const auto text = [](std::string_view url) { return parse_http_url(url).value().text(); };
  EXPECT_EQ(text("HTTP://Host:80/a b/ö?q=1 2&r=%41#part"), "http://host:80/a%20b/%C3%B6?q=1%202&r=%41");
  EXPECT_EQ(text("https://host"), "https://host/");
  EXPECT_EQ(text("https://host?x"), "https://host/?x");
  EXPECT_EQ(text("https://u:p@host/100%"), "https://host/100%25");
  EXPECT_EQ(text("http://[::1]:80/x"), "http://[::1]:80/x");
  EXPECT_EQ(host_and_port("http://[::1]/x"), "[::1]:80");
  EXPECT_EQ(host_and_port("https://u:p@Host/x"), "host:443");
  EXPECT_EQ(url_for_messages("https://u:p@host/a@b?sig=1#x"), "https://host/a@b?...");
}

TEST(HttpUrl, LocationsAreRelativeToWhereTheyWereGiven) {
  const auto base = parse_http_url("https://host/a/b?c").value();
  const auto at = [&](std::string_view location) { return resolve_location(base, location).value().text(); };
  EXPECT_EQ(at("/x"), "https://host/x");
  EXPECT_EQ(at("x"), "https://host/a/x");
  EXPECT_EQ(at("?d"), "https://host/a/b?d");
  EXPECT_EQ(at("//other/x"), "https://other/x");
  EXPECT_EQ(at("http://other/x?u=http://y"), "http://other/x?u=http://y");
  EXPECT_EQ(at("/x?u=http://y"), "https://host/x?u=http://y");
  EXPECT_FALSE(resolve_location(base, "file:///etc/passwd").ok());
}

TEST(HttpOptions, ListsEverythingThatIsWrong) {
  const std::string_view other[] = {"endpoint"};
  const auto parsed = parse_http_options({{"timeout_s", "soon"},
                                          {"verify", "maybe"},
                                          {"tiemout_s", "1"},
                                          {"endpoint", "x"},
                                          {"ca_file", "/does/not/exist"},
                                          {"header_X\r\nY", "1"},
                                          {"header_A", "s3cret\n"}},
                                         other);
  const std::string message = parsed.status().message();
  EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument);
  for (const char* words :
       {"timeout_s is a number", "verify is 'true' or 'false'", "no such option: tiemout_s; there are ca_file",
        "'/does/not/exist' cannot be read", "names no header", "the value of header_A holds a line break"}) {
    EXPECT_NE(message.find(words), std::string::npos) << words << " in " << message;
  }
  EXPECT_EQ(message.find("s3cret"), std::string::npos);
}

TEST(HttpOptions, TakesWhatIsKnown) {
  std::string warned;
  set_log_sink([&](const std::string& line) { warned = line; });
  const auto parsed = parse_http_options({{"timeout_s", "1.5"},
                                          {"connect_timeout_s", "2"},
                                          {"verify", "false"},
                                          {"proxy", "http://p:1"},
                                          {"retries", "3"},
                                          {"header_X-Token", "1"}});
  set_log_sink({});
  ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
  EXPECT_EQ(parsed->connection->first_byte_timeout_ms, 1500);
  EXPECT_EQ(parsed->connection->stall_timeout_ms, 1500);
  EXPECT_EQ(parsed->connection->connect_timeout_ms, 2000);
  EXPECT_FALSE(parsed->connection->verify);
  EXPECT_EQ(parsed->connection->proxy, "http://p:1");
  EXPECT_EQ(parsed->caller.attempts, 4);
  EXPECT_EQ(parsed->headers[0].name, "X-Token");
  EXPECT_NE(warned.find("verify=false"), std::string::npos);
}

}  // namespace forebay::conformance
