#include "store/http/http_store.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "forebay/stats/store.h"
#include "runtime/fork_guard.h"
#include "store/base64.h"
#include "store/calls.h"
#include "store/http/content_encoding.h"
#include "store/http/content_range.h"
#include "store/http/curl_transport.h"
#include "store/http/http_checksum.h"
#include "store/http/http_status.h"
#include "store/http/http_url.h"
#include "store/http/version_from_response.h"
#include "store/object_pins.h"
#include "store/percent.h"
#include "store/range.h"
#include "store/request_slots.h"

namespace forebay {

namespace {

constexpr int kMaxRedirects = 5;
constexpr int kChecksumTries = 3;
constexpr size_t kLongestUrl = 64 << 10;
constexpr uint64_t kMaxUnknownBytes = uint64_t{16} << 30;
// Allows an object that has grown to be recognized by its size.
constexpr uint64_t kSpareBytes = 1 << 20;
// Limit of objects that are read whole because the server does not support ranges.
constexpr uint64_t kWholeForPart = uint64_t{64} << 20;

bool is_redirect(const HttpResponse& response) {
  const int s = response.status;
  return (s == 301 || s == 302 || s == 303 || s == 307 || s == 308) && !response.header("location").empty();
}

/// Returns whether the answer says that a range was requested of an object of 0 bytes (RFC 9110,
/// section 15.5.17).
bool is_empty_object(const HttpResponse& response) {
  return response.status == 416 && response.header("content-range") == "bytes */0";
}

/// The redirects of a fetch so far.
struct Redirects {
  int left = kMaxRedirects;
  bool same_origin = true;  ///< all URLs had the origin of the first one
};

/// A fetch, except its URL.
struct FetchSpec {
  std::string method = "GET";
  std::optional<ByteRange> range;
  uint64_t expected_bytes = 0, max_bytes = 0;
  /// An answer that the object is empty, and so has no such range, counts as success.
  bool may_be_empty = false;
  std::function<bool(uint64_t bytes)> try_raise_body_limit = {};  ///< HttpRequest::try_raise_body_limit
};

FetchSpec fetch_spec_of(const ReadRequest& request) {
  if (request.range) {
    const uint64_t end = request.range->offset + request.range->length;
    return {"GET", request.range, request.range->length,
            std::max({end, request.expected_size.value_or(0), kWholeForPart}) + kSpareBytes};
  }
  if (request.expected_size) return {"GET", {}, *request.expected_size, *request.expected_size + kSpareBytes};
  return {"GET", {}, 0, request.set_aside_bytes.value_or(kMaxUnknownBytes), false, request.set_aside};
}

std::optional<HttpHeader> login(const HttpUrl& url) {
  if (url.user_info.empty()) return std::nullopt;
  std::string plain;
  // '+' has no special meaning here.
  for (const char c : url.user_info) plain += c == '+' ? std::string("%2B") : std::string(1, c);
  plain = percent_decode_listing(plain);
  return HttpHeader{"Authorization", "Basic " + base64({reinterpret_cast<const uint8_t*>(plain.data()), plain.size()})};
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// State shared with callbacks. They do not hold the store, so that it is never destroyed on a
/// thread of its own.
class Core : public std::enable_shared_from_this<Core> {
 public:
  std::shared_ptr<void> begin_reading(std::shared_ptr<void> owner) { return pins_.begin_reading(std::move(owner)); }
  Core(HttpOptions options, std::string headers_only_to, std::shared_ptr<HttpTransport> transport)
      : options_(listening(std::move(options), slots_)), headers_only_to_(lower(std::move(headers_only_to))),
        caller_(retrying_caller(std::move(transport), options_.caller)) {}

  void read(const ReadRequest& request, std::stop_token stop, Store::ReadDone done);
  void stat(const std::string& key, std::stop_token stop, Store::StatDone done);
  void close() {
    calls_.close();
    caller_->close();
  }
  StoreStats stats() const;
  std::shared_ptr<ReclaimableMemory> idle_memory() const { return caller_->idle_memory(); }
  const std::shared_ptr<RequestSlots>& slots() const { return slots_; }

 private:
  using Fetched = std::function<void(Result<HttpResponse>)>;
  /// Facts about an object without its bytes.
  struct ObjectFacts {
    uint64_t size = 0;
    std::string etag;
    uint64_t version = 0;  ///< version_from_response()
  };
  using FactsDone = std::function<void(Result<ObjectFacts>)>;

  void fetch(const std::string& name, const HttpUrl& url, const FetchSpec& spec, const Redirects& redirects,
             std::stop_token stop, Fetched done);
  HttpRequest request_of(const HttpUrl& url, const FetchSpec& spec, const Redirects& redirects) const;
  static std::function<Status(const HttpResponse&)> judge_of(const FetchSpec& spec);
  void fetch_decoded(const std::string& name, const HttpUrl& url, const FetchSpec& spec, std::stop_token stop,
                     Fetched done);
  void size_of(const std::string& name, const HttpUrl& url, std::stop_token stop, FactsDone done);
  void size_by_get(const std::string& name, const HttpUrl& url, std::stop_token stop, FactsDone done);
  Result<Buffer> bytes_of(const ReadRequest& request, const HttpUrl& url, const HttpResponse& response);
  Status pin(const HttpUrl& url, const HttpResponse& response, uint64_t size);
  Result<ObjectFacts> pin_and_describe(const HttpUrl& url, const HttpResponse& response, uint64_t size);

  static HttpOptions listening(HttpOptions options, std::shared_ptr<RequestSlots> slots) {
    options.caller.on_throttled = [slots = std::move(slots)] { slots->on_throttled(); };
    return options;
  }

  const std::shared_ptr<RequestSlots> slots_ = std::make_shared<RequestSlots>();
  const HttpOptions options_;
  const std::string headers_only_to_;
  CallTable calls_;
  ObjectPins pins_;
  const std::shared_ptr<RetryingCaller> caller_;
};

/// A key that no server can have is refused without a request.
Result<HttpUrl> url_of(const std::string& key) {
  const bool possible =
      key.size() <= kLongestUrl && key.find('\0') == std::string::npos && key.find("%00") == std::string::npos;
  if (!possible) return not_found("no such object: no server knows an address like this");
  return parse_http_url(key);
}

HttpRequest Core::request_of(const HttpUrl& url, const FetchSpec& spec, const Redirects& redirects) const {
  HttpRequest request;
  request.method = spec.method;
  request.url = url.text();
  if (redirects.same_origin && (headers_only_to_.empty() || headers_only_to_ == url.origin()))
    request.headers = options_.headers;
  if (auto header = login(url)) {
    std::erase_if(request.headers, [](const HttpHeader& other) { return lower(other.name) == "authorization"; });
    request.headers.push_back(std::move(*header));
  }
  // Otherwise servers may compress what they send, and sizes and ranges would be those of
  // compressed bytes.
  request.headers.push_back({"Accept-Encoding", "identity"});
  if (spec.range) {
    const ByteRange range = *spec.range;
    request.headers.push_back({"Range", fmt::format("bytes={}-{}", range.offset, range.offset + range.length - 1)});
  }
  request.expected_body_bytes = spec.expected_bytes;
  request.max_body_bytes = spec.max_bytes;
  request.try_raise_body_limit = spec.try_raise_body_limit;
  request.connection = options_.connection;
  return request;
}

/// Mismatches are retried, because the link may have damaged the bytes, but not forever, because
/// the object itself may be damaged.
std::function<Status(const HttpResponse&)> Core::judge_of(const FetchSpec& spec) {
  // Shared by all attempts of the call; two may be judged at once.
  return [spec, mismatches = std::make_shared<std::atomic<int>>(0)](const HttpResponse& response) -> Status {
    if (is_redirect(response)) return {};
    if (spec.may_be_empty && is_empty_object(response)) return {};
    FOREBAY_RETURN_IF_ERROR(judge_http_status(response));
    if (spec.method == "HEAD") return {};
    if (response.status == 206) {
      if (!spec.range) return unavailable("the server answered with a part where the whole was asked for");
      // Digests are of the whole object, so a part has no checksum.
      return check_part(*spec.range, response.header("content-range"), response.body.size());
    }
    Status checked = check_http_checksum(response);
    if (checked.ok() || ++*mismatches < kChecksumTries) return checked;
    return corrupt(checked.message());
  };
}

Result<HttpResponse> decoded(HttpResponse response, uint64_t max_bytes) {
  FOREBAY_ASSIGN(response.body, decode_content(response, max_bytes));
  return response;
}

void Core::fetch(const std::string& name, const HttpUrl& url, const FetchSpec& spec, const Redirects& redirects,
                 std::stop_token stop, Fetched done) {
  HttpCall call;
  call.name = name;
  call.hedge = true;
  call.make = [self = shared_from_this(), url, spec, redirects](int, HttpCall::MadeRequest made) {
    made(self->request_of(url, spec, redirects));
  };
  call.judge = judge_of(spec);
  auto arrived = [self = shared_from_this(), name, url, spec, redirects, stop,
                  done = std::move(done)](Result<HttpResponse> response) {
    if (!response.ok() || !is_redirect(*response)) return done(std::move(response));
    auto target = resolve_location(url, response->header("location"));
    if (!target.ok()) return done(target.status());
    if (redirects.left == 0)
      return done(invalid_argument(
          fmt::format("more than {} redirects; give the address where the object is in the end", kMaxRedirects)));
    if (url.scheme == "https" && target->scheme == "http") {
      return done(
          invalid_argument(fmt::format("the server sends from https to http ('{}'), which is not followed; give that "
                                       "address if the plain connection is wanted",
                                       url_for_messages(target->text()))));
    }
    const bool same_origin = redirects.same_origin && target->origin() == url.origin();
    // A Location has no login. The login applies to the same origin and to no other.
    if (same_origin) target->user_info = url.user_info;
    self->fetch(name, *target, spec, {redirects.left - 1, same_origin}, stop, done);
  };
  caller_->call(std::move(call), stop, std::move(arrived));
}

/// Fetches the whole object, or the part of it if the server sends objects as they are. An object
/// that is stored compressed, and always sent so, is returned whole and decoded, with status 200.
void Core::fetch_decoded(const std::string& name, const HttpUrl& url, const FetchSpec& spec, std::stop_token stop,
                         Fetched done) {
  const uint64_t most = std::max(spec.max_bytes, kWholeForPart);
  fetch(name, url, spec, {}, stop,
        [self = shared_from_this(), name, url, most, stop, done](Result<HttpResponse> response) {
          if (!response.ok()) return done(std::move(response));
          const std::string encoding = content_encoding(*response);
          if (encoding.empty()) return done(std::move(response));
          if (response->status == 206) {
            // A part of the compressed bytes is useless.
            const FetchSpec whole{"GET", {}, 0, kWholeForPart};
            return self->fetch(name, url, whole, {}, stop, [most, encoding, done](Result<HttpResponse> all) {
              if (all.status().code() == Code::kUnsupported)
                return done(unsupported(fmt::format(
                    "the server stores it with Content-Encoding: {}, so that no part of it can be read, and it "
                    "is too large to be read whole for each part; store it without",
                    encoding)));
              done(all.ok() ? decoded(std::move(*all), most) : std::move(all));
            });
          }
          done(decoded(std::move(*response), most));
        });
}

Status Core::pin(const HttpUrl& url, const HttpResponse& response, uint64_t size) {
  const std::string_view etag = response.header("etag");
  // "W/..." is a weak ETag: it may stay the same when bytes change (RFC 9110, section 8.8.1).
  const bool strong = etag.starts_with('"');
  const Status pinned = pins_.check(url.text(), strong ? std::string(etag) : fmt::format("{} bytes", size));
  return pinned.ok() ? pinned
                     : corrupt(fmt::format("changed while it was read: the server gives another {} than at first",
                                           strong ? "ETag" : "size"));
}

uint64_t version_now(const HttpResponse& response, uint64_t size) {
  return version_from_response(response, size, std::chrono::system_clock::now());
}

Result<Core::ObjectFacts> Core::pin_and_describe(const HttpUrl& url, const HttpResponse& response, uint64_t size) {
  FOREBAY_RETURN_IF_ERROR(pin(url, response, size));
  return ObjectFacts{size, std::string(response.header("etag")), version_now(response, size)};
}

Result<Buffer> Core::bytes_of(const ReadRequest& request, const HttpUrl& url, const HttpResponse& response) {
  const bool part = response.status == 206;
  uint64_t size = response.body.size();
  if (part) {
    const auto given = parse_content_range(response.header("content-range"));
    // A server that does not tell the size has sent what the object has of the range.
    size = given->total.value_or(response.body.size() < request.range->length
                                     ? given->last + 1
                                     : std::max(given->last + 1, request.expected_size.value_or(0)));
  }
  FOREBAY_ASSIGN(const ByteRange range, resolve_range(request, size));
  FOREBAY_RETURN_IF_ERROR(pin(url, response, size));
  report_version(request, version_now(response, size));
  if (!part) return response.body.slice(range.offset, range.length);
  return response.body;
}

void Core::read(const ReadRequest& request, std::stop_token stop, Store::ReadDone done) {
  const std::string name = url_for_messages(request.key);
  const auto call = calls_.begin<Buffer>(name, stop, std::move(done), call_kind_of(request));
  if (call->answered()) return;
  const auto answer = [call, name](Result<Buffer> bytes) {
    call->answer(bytes.ok() ? std::move(bytes) : Result<Buffer>(bytes.status().with_key(name)));
  };
  const auto url = url_of(request.key);
  if (!url.ok()) return answer(url.status());
  if (request.version_only) {
    return size_of(name, *url, stop, [request, answer](Result<ObjectFacts> found) {
      if (found.ok()) report_version(request, found->version);
      answer(found.ok() ? Result<Buffer>(Buffer()) : answer_version_only(found.status()));
    });
  }
  if (request.range && !is_expressible_range(*request.range)) {
    return size_of(name, *url, stop, [request, answer](Result<ObjectFacts> found) {
      const Status status = found.ok() ? resolve_range(request, found->size).status() : found.status();
      answer(status.ok() ? Result<Buffer>(Buffer()) : Result<Buffer>(status));
    });
  }
  fetch_decoded(
      name, *url, fetch_spec_of(request), stop,
      [self = shared_from_this(), request, url = *url, answer](Result<HttpResponse> response) {
        if (response.ok()) return answer(self->bytes_of(request, url, *response));
        // The transport's answer to a body beyond max_body_bytes, before it is received.
        const bool too_long = response.status().code() == Code::kUnsupported && response.status().bytes_needed() > 0;
        if (too_long && request.range)
          return answer(unsupported(fmt::format("the server does not know byte ranges and sends the whole object; {}",
                                                response.status().message())));
        answer(read_failure(request, response.status()));
      });
}

void Core::stat(const std::string& key, std::stop_token stop, Store::StatDone done) {
  const std::string name = url_for_messages(key);
  const auto call = calls_.begin<ObjectInfo>(name, stop, std::move(done));
  if (call->answered()) return;
  const auto answer = [call, name, key](Result<ObjectFacts> found) {
    if (!found.ok()) {
      call->answer(found.status().with_key(name));
    } else {
      call->answer(ObjectInfo{key, found->size, version_of_etag(found->etag)});
    }
  };
  const auto url = url_of(key);
  if (!url.ok()) return answer(url.status());
  size_of(name, *url, stop, answer);
}

void Core::size_of(const std::string& name, const HttpUrl& url, std::stop_token stop, FactsDone done) {
  const FetchSpec head{"HEAD", {}, 0, kWholeForPart};
  fetch(name, url, head, {}, stop, [self = shared_from_this(), name, url, stop, done](Result<HttpResponse> response) {
    if (!response.ok()) {
      // Servers that refuse HEAD do so with various statuses; the answer to a GET decides.
      const Code code = response.status().code();
      if (code == Code::kInvalidArgument || code == Code::kUnsupported) return self->size_by_get(name, url, stop, done);
      return done(response.status());
    }
    const auto size = parse_count(response->header("content-length"));
    // The size of compressed bytes is not the object's size.
    if (!size || !content_encoding(*response).empty()) return self->size_by_get(name, url, stop, done);
    done(self->pin_and_describe(url, *response, *size));
  });
}

void Core::size_by_get(const std::string& name, const HttpUrl& url, std::stop_token stop, FactsDone done) {
  // The answer's Content-Range has the size. Servers without support for ranges send the whole
  // object, whose bytes are counted.
  const FetchSpec first_byte{"GET", ByteRange{0, 1}, 1, kWholeForPart, true};
  fetch_decoded(name, url, first_byte, stop, [self = shared_from_this(), url, done](Result<HttpResponse> response) {
    if (!response.ok()) return done(response.status());
    // The version is not pinned, because a refusal usually lacks the ETag that reads of the object
    // have.
    if (is_empty_object(*response))
      return done(ObjectFacts{0, std::string(response->header("etag")), version_now(*response, 0)});
    uint64_t size = response->body.size();
    if (response->status == 206) {
      const auto given = parse_content_range(response->header("content-range"));
      if (!given || !given->total)
        return done(unsupported(
            "the server does not tell how large the object is; name its size in the manifest or download it"));
      size = *given->total;
    }
    done(self->pin_and_describe(url, *response, size));
  });
}

StoreStats Core::stats() const {
  StoreStats stats = calls_.stats();
  caller_->stats().add_to(stats);
  return stats;
}

class HttpStore final : public Store {
 public:
  HttpStore(HttpOptions options, std::string headers_only_to, std::shared_ptr<HttpTransport> transport)
      : core_(std::make_shared<Core>(std::move(options), std::move(headers_only_to), std::move(transport))) {}

  ~HttpStore() override {
    if (process_generation() != generation_) {  // a fork: threads that hold locks are not here
      new std::shared_ptr<Core>(std::move(core_));
      return;
    }
    core_->close();
  }

  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override {
    if (process_generation() != generation_) return done(forked(request.key));
    const auto core = core_;
    core->read(request, std::move(stop), std::move(done));
  }
  void list(const ListRequest& request, std::stop_token stop, ListDone done) override {
    if (stop.stop_requested())
      return done(cancelled("stopped before the request was sent").with_key(display_name(request.prefix)));
    done(unsupported("plain HTTP cannot be listed: use fb.manifest(...) with a file that lists the objects, or "
                     "fb.files([...]) with their addresses")
             .with_key(display_name(request.prefix)));
  }
  void stat(const std::string& key, std::stop_token stop, StatDone done) override {
    if (process_generation() != generation_) return done(forked(key));
    const auto core = core_;
    core->stat(key, std::move(stop), std::move(done));
  }
  std::shared_ptr<void> begin_reading() override { return core_->begin_reading(core_); }
  bool remote() const override { return true; }
  std::string display_name(const std::string& key) const override { return url_for_messages(key); }
  StoreStats stats() const override { return core_->stats(); }
  std::shared_ptr<RequestSlots> slots() override { return core_->slots(); }
  std::shared_ptr<ReclaimableMemory> idle_memory() const override { return core_->idle_memory(); }

 private:
  static Status forked(const std::string& key) {
    return invalid_argument("this store was made before a fork; open the data again in the new process")
        .with_key(url_for_messages(key));
  }

  const uint64_t generation_ = process_generation();
  std::shared_ptr<Core> core_;
};

}  // namespace

std::shared_ptr<Store> http_store(HttpOptions options, std::string headers_only_to,
                                  std::shared_ptr<HttpTransport> transport) {
  if (!transport) transport = shared_http_transport();
  return std::make_shared<HttpStore>(std::move(options), std::move(headers_only_to), std::move(transport));
}

}  // namespace forebay
