#include "store/s3/s3_store.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "forebay/stats/store.h"
#include "runtime/fork_guard.h"
#include "store/calls.h"
#include "store/http/amz_checksum.h"
#include "store/http/content_encoding.h"
#include "store/http/content_range.h"
#include "store/http/version_from_response.h"
#include "store/range.h"
#include "store/s3/s3_answers.h"
#include "store/s3/s3_writer.h"

namespace forebay {

namespace {

// S3's own limits of keys and pages.
constexpr size_t kMaxKeyBytes = 1024;
constexpr uint32_t kMaxPage = 1000;
constexpr size_t kListingsInFlight = 384;  // 1.28 M names in four rounds
constexpr uint64_t kMostUnknownBytes = uint64_t{4} << 30;
// For objects that must be read whole for each part.
constexpr uint64_t kMaxDecodedBytes = uint64_t{64} << 20;
// Allows an object that has grown to be recognized by its size, unless it is far larger.
constexpr uint64_t kGrownBytes = 1 << 20;

/// No server has other keys, and some answer strangely to them.
bool possible(std::string_view key) {
  return !key.empty() && key.size() <= kMaxKeyBytes && key.find('\0') == std::string_view::npos;
}

/// Mismatches are retried, because the link may have damaged the bytes, but not forever, because
/// the object itself may be damaged.
std::function<Status(const HttpResponse&)> checksum_check() {
  constexpr int kTries = 3;
  return [mismatches = std::make_shared<std::atomic<int>>(0)](const HttpResponse& response) {
    Status checked = check_amz_checksum(response);
    if (checked.ok() || ++*mismatches < kTries) return checked;
    return corrupt(checked.message());
  };
}

/// Requests a whole object that may be stored with a Content-Encoding. Ranges and sizes of such
/// objects are those of the encoded bytes.
S3Request whole_request(const std::string& key) {
  return {.key = key, .expected_body_bytes = 0, .max_body_bytes = kMaxDecodedBytes, .hedge = true};
}

Status cannot_be_read_in_parts(const std::string& encoding, const Status& why) {
  if (why.code() != Code::kUnsupported) return why;
  return unsupported(fmt::format(
      "is stored with Content-Encoding: {}, so that no part of it can be read, and it is too large to be read "
      "whole for each part ({} MiB); store it without",
      encoding, kMaxDecodedBytes >> 20));
}

/// Requests the part, or the whole object if there is no range.
S3Request get_request(const ReadRequest& request, bool verify) {
  S3Request get;
  get.key = request.key;
  get.hedge = true;
  if (request.range) {
    const ByteRange range = *request.range;
    get.headers.push_back({"range", fmt::format("bytes={}-{}", range.offset, range.offset + range.length - 1)});
    get.expected_body_bytes = range.length;
    // Limited by the whole object, which a server without support for ranges sends.
    get.max_body_bytes = std::max(range.length, request.expected_size.value_or(0)) + kGrownBytes;
    get.check = [range](const HttpResponse& response) {
      if (response.status != 206) return Status();
      return check_part(range, response.header("content-range"), response.body.size());
    };
    return get;
  }
  if (verify) {
    get.headers.push_back({"x-amz-checksum-mode", "ENABLED"});
    get.check = checksum_check();
  }
  get.expected_body_bytes = request.expected_size.value_or(0);
  get.max_body_bytes = request.expected_size ? *request.expected_size + kGrownBytes
                                             : request.set_aside_bytes.value_or(kMostUnknownBytes);
  get.try_raise_body_limit = request.set_aside;
  return get;
}

}  // namespace

struct S3Store::Core {
  CallTable calls;
  ObjectPins pins;

  /// Returns the bytes of a read from the server's answer.
  Result<Buffer> bytes_of(const ReadRequest& request, const HttpResponse& response) {
    // The size is checked first: "changed from 5 to 7 bytes" says more than "another ETag".
    FOREBAY_ASSIGN(Buffer bytes,
                   request.range && response.status == 206 ? part_of(request, response) : whole_of(request, response));
    FOREBAY_RETURN_IF_ERROR(pins.check(request.key, response.header("etag")));
    report_version(request, version_of_etag(response.header("etag")));
    return bytes;
  }

  /// Does the same for an answer with a whole object that has a Content-Encoding.
  Result<Buffer> decoded_of(const ReadRequest& request, const HttpResponse& response) {
    const uint64_t most = std::max(kMaxDecodedBytes, request.set_aside_bytes.value_or(kMostUnknownBytes));
    FOREBAY_ASSIGN(Buffer whole, decode_content(response, most));
    // The listed size is that of the encoded bytes, and memory was set aside by it.
    if (request.expected_size == response.body.size() && whole.size() != response.body.size()) {
      return unsupported(fmt::format(
          "is stored with Content-Encoding: {}, and the listing tells only how large the encoded bytes are; "
          "name the object in a list or in a manifest, or store it without",
          content_encoding(response)));
    }
    FOREBAY_ASSIGN(const ByteRange range, resolve_range(request, whole.size()));
    FOREBAY_RETURN_IF_ERROR(pins.check(request.key, response.header("etag")));
    report_version(request, version_of_etag(response.header("etag")));
    return whole.slice(range.offset, range.length);
  }

  static Result<Buffer> part_of(const ReadRequest& request, const HttpResponse& response) {
    const auto given = parse_content_range(response.header("content-range"));
    if (given && given->total) FOREBAY_RETURN_IF_ERROR(resolve_range(request, *given->total).status());
    if (response.body.size() != request.range->length)
      return unavailable("the server answered with less than was asked for");
    return response.body;
  }

  static Result<Buffer> whole_of(const ReadRequest& request, const HttpResponse& response) {
    FOREBAY_ASSIGN(const ByteRange range, resolve_range(request, response.body.size()));
    return response.body.slice(range.offset, range.length);
  }
};

S3Store::S3Store(std::shared_ptr<S3Client> client, std::shared_ptr<const RetryingCaller> caller,
                 std::shared_ptr<RequestSlots> slots)
    : client_(std::move(client)), core_(std::make_shared<Core>()), caller_(std::move(caller)), slots_(std::move(slots)),
      generation_(process_generation()) {}

S3Store::~S3Store() {
  // After a fork the threads that would answer are not here.
  if (process_generation() != generation_) {
    new std::shared_ptr<Core>(core_);
    return;
  }
  closing_.request_stop();
  core_->calls.close();
}

std::shared_ptr<void> S3Store::begin_reading() { return core_->pins.begin_reading(core_); }

void S3Store::forget(const std::string& key) { core_->pins.forget(key); }

/// Transfers end with the caller's stop or, if the caller cannot stop, with the store.
std::stop_token S3Store::any_stop(const std::stop_token& stop) const {
  return stop.stop_possible() ? stop : closing_.get_token();
}

Status S3Store::put(const std::string& key, Buffer bytes, std::stop_token stop, uint64_t part_bytes) {
  forget(key);
  return S3Writer(client_, {.part_bytes = part_bytes}).put(key, bytes, std::move(stop));
}

Status S3Store::erase(const std::string& key, std::stop_token stop) {
  forget(key);
  const Status erased = S3Writer(client_).erase({&key, 1}, std::move(stop));
  return erased.ok() ? Status() : Status(erased).with_key(display_name(key));
}

Status S3Store::create_bucket(std::stop_token stop) { return client_->send_wait({.method = "PUT"}, stop).status(); }

std::string S3Store::display_name(const std::string& key) const { return client_->name(key); }

StoreStats S3Store::stats() const {
  StoreStats stats = core_->calls.stats();
  if (caller_) caller_->stats().add_to(stats);
  return stats;
}

std::shared_ptr<ReclaimableMemory> S3Store::idle_memory() const { return caller_ ? caller_->idle_memory() : nullptr; }

ListingTraits S3Store::listing() const {
  return {.in_ranges = true, .at_once = kListingsInFlight, .boundaries_folder = client_->options().listing_cache};
}

void S3Store::read(const ReadRequest& request, std::stop_token stop, ReadDone done) {
  const auto call = core_->calls.begin<Buffer>(display_name(request.key), stop, std::move(done), call_kind_of(request));
  if (call->answered()) return;
  const Answer answer = [core = core_, call, name = display_name(request.key)](Result<Buffer> bytes) {
    call->answer(bytes.ok() ? std::move(bytes) : Result<Buffer>(bytes.status().with_key(name)));
  };
  if (!possible(request.key)) return answer(not_found("no such object"));
  // A range that HTTP cannot express is empty, or an error that depends on the object's size.
  if (request.range && !is_expressible_range(*request.range)) return check_range(request, std::move(stop), answer);
  if (request.version_only) return read_version(request, std::move(stop), answer);
  read_bytes(request, std::move(stop), answer);
}

void S3Store::check_range(const ReadRequest& request, std::stop_token stop, const Answer& answer) {
  client_->send({.method = "HEAD", .key = request.key}, any_stop(stop),
                [request, answer](const Result<HttpResponse>& response) {
                  if (!response.ok()) return answer(response.status());
                  const auto size = parse_count(response->header("content-length"));
                  if (!size) return answer(unavailable("the server does not say how large it is"));
                  const Status status = resolve_range(request, *size).status();
                  answer(status.ok() ? Result<Buffer>(Buffer()) : Result<Buffer>(status));
                });
}

void S3Store::read_version(const ReadRequest& request, std::stop_token stop, const Answer& answer) {
  client_->send({.method = "HEAD", .key = request.key}, any_stop(stop),
                [core = core_, request, answer](Result<HttpResponse> head) {
                  if (!head.ok()) return answer(answer_version_only(head.status()));
                  const std::string_view etag = head->header("etag");
                  // If the object is pinned to another version, none is reported: the object is
                  // then read, and the read reports the change.
                  if (core->pins.check(request.key, etag).ok()) report_version(request, version_of_etag(etag));
                  answer(Buffer());
                });
}

void S3Store::read_bytes(const ReadRequest& request, std::stop_token stop, const Answer& answer) {
  const bool verify = client_->options().verify_checksums;
  client_->send(
      get_request(request, verify), any_stop(stop),
      [core = core_, client = client_, any = any_stop(stop), request, answer](Result<HttpResponse> response) {
        if (!response.ok()) return answer(read_failure(request, response.status()));
        const std::string encoding = content_encoding(*response);
        if (encoding.empty()) return answer(core->bytes_of(request, *response));
        if (response->status != 206) return answer(core->decoded_of(request, *response));
        client->send(whole_request(request.key), any, [core, request, encoding, answer](Result<HttpResponse> all) {
          answer(all.ok() ? core->decoded_of(request, *all) : cannot_be_read_in_parts(encoding, all.status()));
        });
      });
}

void S3Store::stat(const std::string& key, std::stop_token stop, StatDone done) {
  const auto call = core_->calls.begin<ObjectInfo>(display_name(key), stop, std::move(done));
  if (call->answered()) return;
  const auto answer = [core = core_, call, name = display_name(key)](Result<ObjectInfo> info) {
    call->answer(info.ok() ? std::move(info) : Result<ObjectInfo>(info.status().with_key(name)));
  };
  if (!possible(key)) return answer(not_found("no such object"));
  const auto any = any_stop(stop);
  client_->send({.method = "HEAD", .key = key}, any,
                [core = core_, client = client_, key, any, answer](Result<HttpResponse> head) {
                  if (head.ok() && !content_encoding(*head).empty()) {
                    return client->send(
                        whole_request(key), any,
                        [core, key, answer, encoding = content_encoding(*head)](Result<HttpResponse> all) {
                          if (!all.ok()) return answer(cannot_be_read_in_parts(encoding, all.status()));
                          const Result<Buffer> whole = core->decoded_of({key, {}, {}}, *all);
                          if (!whole.ok()) return answer(whole.status());
                          answer(ObjectInfo{key, whole->size(), version_of_etag(all->header("etag"))});
                        });
                  }
                  if (head.ok()) {
                    const auto size = parse_count(head->header("content-length"));
                    if (!size) return answer(unavailable("the server does not say how large it is"));
                    const Status pinned = core->pins.check(key, head->header("etag"));
                    const ObjectInfo info{key, *size, version_of_etag(head->header("etag"))};
                    return answer(pinned.ok() ? Result<ObjectInfo>(info) : Result<ObjectInfo>(pinned));
                  }
                  const Code code = head.status().code();
                  if (code == Code::kCancelled || code == Code::kUnavailable) return answer(head.status());
                  // The answer to a HEAD has no body with the reason; the answer to a GET has.
                  S3Request again{.key = key, .headers = {{"range", "bytes=0-0"}}};
                  client->send(std::move(again), any, [answer, why = head.status()](Result<HttpResponse> get) {
                    answer(get.ok() ? why : get.status());
                  });
                });
}

void S3Store::list(const ListRequest& request, std::stop_token stop, ListDone done) {
  const std::string name = display_name(request.prefix);
  const auto call = core_->calls.begin<ListPage>(name, stop, std::move(done));
  if (call->answered()) return;
  S3Request get;
  get.name = name;
  get.query = {{"list-type", "2"},
               {"delimiter", "/"},
               {"encoding-type", "url"},
               {"max-keys", std::to_string(std::clamp<uint32_t>(request.max_keys, 1, kMaxPage))},
               {"prefix", request.prefix}};
  // `after` is sent for the first page only: a continuation includes where the listing began.
  if (!request.continuation.empty())
    get.query.emplace_back("continuation-token", request.continuation);
  else if (!request.after.empty())
    get.query.emplace_back("start-after", request.after);

  const auto page_of = [request](const HttpResponse& response) -> Result<ListPage> {
    FOREBAY_ASSIGN(S3ListPage list, parse_s3_list(text_view(response.body), request.prefix, request.until));
    // Buckets have no folders: a folder without any name below it does not exist, which only a
    // complete listing can show.
    const bool whole = request.continuation.empty() && request.after.empty() && request.until.empty();
    if (whole && !list.found && list.page.continuation.empty() && !request.prefix.empty()) {
      return not_found("no such folder");
    }
    return std::move(list.page);
  };
  client_->send(std::move(get), any_stop(stop), [core = core_, call, name, page_of](Result<HttpResponse> response) {
    Result<ListPage> page = response.ok() ? page_of(*response) : Result<ListPage>(response.status());
    call->answer(page.ok() ? std::move(page) : Result<ListPage>(page.status().with_key(name)));
  });
}

}  // namespace forebay
