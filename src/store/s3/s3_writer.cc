#include "store/s3/s3_writer.h"

#include <iterator>
#include <utility>

#include "store/http/amz_checksum.h"
#include "store/http/content_range.h"
#include "store/s3/s3_together.h"

namespace forebay {

namespace {

constexpr size_t kLongestKey = 1024;
constexpr int kUploads = 3;  // each of which another client may abort
constexpr uint64_t kMaxRead = uint64_t{1} << 30;

// A request without a key addresses the bucket itself, which this class must not create or delete.
Status check_key(std::string_view key) {
  if (!key.empty() && key.size() <= kLongestKey) return {};
  return invalid_argument(key.empty() ? "the name of the object is empty"
                                      : "names of objects have 1,024 bytes at most");
}

}  // namespace

S3Request S3Writer::put_request(const std::string& key, const Buffer& bytes) const {
  S3Request request{.method = "PUT", .key = key, .body = bytes};
  if (client_->options().write_checksums)
    request.headers.push_back({"x-amz-checksum-crc64nvme", amz_crc64nvme(bytes.span())});
  return request;
}

Status S3Writer::put(const std::string& key, const Buffer& bytes, std::stop_token stop) {
  FOREBAY_RETURN_IF_ERROR(check_key(key));
  const Status written = bytes.size() > options_.part_bytes
                             ? put_in_parts(key, bytes, stop)
                             : client_->send_wait(put_request(key, bytes), stop).status();
  return written.ok() ? Status() : Status(written).with_key(name(key));
}

Status S3Writer::put_in_parts(const std::string& key, const Buffer& bytes, const std::stop_token& stop) {
  for (int i = 0; i < kUploads; ++i) {
    FOREBAY_ASSIGN(const bool there, upload_in_parts(*client_, key, bytes, options_, stop));
    if (there) return {};
  }
  return unavailable(
      "was taken away while it was written, more than once: somebody or a rule of the bucket aborts uploads");
}

Result<bool> S3Writer::put_new(const std::string& key, const Buffer& bytes, std::stop_token stop) {
  constexpr int kPreconditionFailed = 412, kNotImplemented = 501;
  FOREBAY_RETURN_IF_ERROR(check_key(key));
  S3Request request = put_request(key, bytes);
  request.headers.push_back({"if-none-match", "*"});
  request.also = {kPreconditionFailed, kNotImplemented};
  const Result<HttpResponse> answer = client_->send_wait(std::move(request), stop);
  if (!answer.ok()) return Status(answer.status()).with_key(name(key));
  // OpenStack Swift does not support this condition.
  if (answer->status == kNotImplemented) {
    FOREBAY_RETURN_IF_ERROR(put(key, bytes, stop));
    return true;
  }
  // False also if our own first attempt wrote the object and its answer was lost. Callers treat
  // that as an existing object.
  return answer->status != kPreconditionFailed;
}

// A missing bucket is an error.
bool S3Writer::no_object(const Status& status) const {
  return status.code() == Code::kNotFound && status.key() != "s3://" + client_->options().bucket;
}

Result<std::vector<std::optional<Buffer>>> S3Writer::get_all(std::span<const std::string> keys, std::stop_token stop) {
  std::vector<std::optional<Buffer>> found(keys.size());
  S3Requests requests{keys.size()};
  requests.make = [&](size_t i) { return S3Request{.key = keys[i], .max_body_bytes = kMaxRead}; };
  requests.take = [&](size_t i, Result<HttpResponse> answer) {
    if (answer.ok()) found[i] = std::move(answer->body);
    return no_object(answer.status()) ? Status() : answer.status();
  };
  FOREBAY_RETURN_IF_ERROR(send_together(*client_, requests, std::move(stop)));
  return found;
}

Result<std::vector<std::optional<uint64_t>>> S3Writer::sizes(std::span<const std::string> keys, std::stop_token stop) {
  std::vector<std::optional<uint64_t>> found(keys.size());
  S3Requests requests{keys.size()};
  requests.make = [&](size_t i) { return S3Request{.method = "HEAD", .key = keys[i]}; };
  requests.take = [&](size_t i, const Result<HttpResponse>& answer) {
    if (answer.ok()) found[i] = parse_count(answer->header("content-length"));
    return no_object(answer.status()) ? Status() : answer.status();
  };
  FOREBAY_RETURN_IF_ERROR(send_together(*client_, requests, std::move(stop)));
  return found;
}

Result<std::vector<ObjectInfo>> S3Writer::list(const std::string& prefix, std::stop_token stop) {
  std::vector<ObjectInfo> all;
  std::string continuation;
  do {
    S3Request request{.name = name(prefix),
                      .query = {{"list-type", "2"}, {"encoding-type", "url"}, {"prefix", prefix}}};
    if (!continuation.empty()) request.query.emplace_back("continuation-token", continuation);
    FOREBAY_ASSIGN(const HttpResponse answer, client_->send_wait(std::move(request), stop));
    FOREBAY_ASSIGN(S3ListPage list, parse_s3_list(text_view(answer.body), prefix, ""));
    std::move(list.page.objects.begin(), list.page.objects.end(), std::back_inserter(all));
    continuation = std::move(list.page.continuation);
  } while (!continuation.empty());
  return all;
}

Status S3Writer::erase(std::span<const std::string> keys, std::stop_token stop) {
  for (const std::string& key : keys) FOREBAY_RETURN_IF_ERROR(check_key(key));
  S3Requests requests{keys.size()};
  requests.make = [&](size_t i) { return S3Request{.method = "DELETE", .key = keys[i]}; };
  requests.take = [&](size_t, const Result<HttpResponse>& answer) {
    return no_object(answer.status()) ? Status() : answer.status();
  };
  return send_together(*client_, requests, std::move(stop));
}

Result<std::vector<S3PartialUpload>> S3Writer::unfinished(const std::string& prefix, std::stop_token stop) {
  std::vector<S3PartialUpload> all;
  S3UploadsPage page;
  do {
    S3Request request{.name = name(prefix), .query = {{"uploads", ""}, {"encoding-type", "url"}, {"prefix", prefix}}};
    if (!page.next_key.empty()) request.query.emplace_back("key-marker", page.next_key);
    if (!page.next_id.empty()) request.query.emplace_back("upload-id-marker", page.next_id);
    FOREBAY_ASSIGN(const HttpResponse answer, client_->send_wait(std::move(request), stop));
    FOREBAY_ASSIGN(page, parse_s3_uploads(text_view(answer.body)));
    for (S3PartialUpload& upload : page.uploads)
      // Filtered here, because a server may ignore the prefix of the request.
      if (upload.key.starts_with(prefix)) all.push_back(std::move(upload));
  } while (!page.next_key.empty());
  return all;
}

Status S3Writer::abort(const S3PartialUpload& upload, std::stop_token stop) {
  return abort_upload(*client_, upload.key, upload.id, std::move(stop));
}

}  // namespace forebay
