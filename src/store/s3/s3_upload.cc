#include "store/s3/s3_upload.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "store/http/amz_checksum.h"
#include "store/s3/s3_answers.h"
#include "store/s3/s3_together.h"

namespace forebay {

namespace {

constexpr uint64_t kMaxParts = 10'000;
constexpr auto kGiveUpWithin = std::chrono::seconds(5);  // for aborting an upload whose writer ends
constexpr const char* kHashHeader = "x-amz-meta-forebay-xxh3";
constexpr const char* kCrcHeader = "x-amz-checksum-crc64nvme";

Buffer buffer_of(std::string_view text) {
  Buffer buffer = Buffer::allocate(text.size());
  std::ranges::copy(text, buffer.data());
  return buffer;
}

// A connection that ends in the middle of an answer's headers leaves an answer that looks complete.
Status with_etag(const HttpResponse& response) {
  if (!response.header("etag").empty()) return {};
  return unavailable("the server's answer is cut off: it has no ETag");
}

Status completed(const HttpResponse& response) {
  if (text_view(response.body).find("CompleteMultipartUploadResult") != std::string_view::npos) return {};
  return with_etag(response);
}

class PartsUpload {
 public:
  PartsUpload(S3Client& client, const std::string& key, const Buffer& bytes, const S3UploadOptions& options,
              std::stop_token stop)
      : client_(client), key_(key), bytes_(bytes), stop_(std::move(stop)), at_once_(options.parts_at_once),
        part_bytes_(std::max(options.part_bytes, (bytes.size() + kMaxParts - 1) / kMaxParts)),
        parts_((bytes.size() + part_bytes_ - 1) / part_bytes_) {}

  Result<bool> run() {
    FOREBAY_RETURN_IF_ERROR(begin());
    Status sent = send_parts();
    if (sent.ok()) sent = complete();
    if (sent.ok()) return true;
    const bool gone = sent.code() == Code::kNotFound;
    if (!gone) give_up();
    if (gone) return is_there();
    return sent;
  }

 private:
  bool with_checksums() const { return client_.options().write_checksums; }

  Status begin() {
    S3Request request{.method = "POST", .key = key_, .query = {{"uploads", ""}}};
    hash_ = hash128(bytes_.data(), bytes_.size()).to_string();
    request.headers = {{kHashHeader, hash_}};
    if (with_checksums()) {
      request.headers.push_back({"x-amz-checksum-algorithm", "CRC64NVME"});
      request.headers.push_back({"x-amz-checksum-type", "FULL_OBJECT"});
    }
    FOREBAY_ASSIGN(const HttpResponse begun, client_.send_wait(std::move(request), stop_));
    FOREBAY_ASSIGN(id_, parse_s3_element(text_view(begun.body), "UploadId"));
    return {};
  }

  Status send_parts() {
    etags_.resize(parts_);
    S3Requests requests{parts_, at_once_};
    requests.make = [&](size_t part) {
      S3Request request{
          .method = "PUT", .key = key_, .query = {{"partNumber", std::to_string(part + 1)}, {"uploadId", id_}}};
      request.check = with_etag;
      const uint64_t offset = part * part_bytes_;
      request.body = bytes_.slice(offset, std::min(part_bytes_, bytes_.size() - offset));
      if (with_checksums()) request.headers.push_back({kCrcHeader, amz_crc64nvme(request.body.span())});
      return request;
    };
    requests.take = [&](size_t part, const Result<HttpResponse>& answer) {
      if (answer.ok()) etags_[part] = answer->header("etag");
      return answer.status();
    };
    return send_together(client_, requests, stop_);
  }

  Status complete() {
    std::string parts;
    for (size_t i = 0; i < etags_.size(); ++i)
      parts += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", i + 1, etags_[i]);
    S3Request request{.method = "POST", .key = key_, .query = {{"uploadId", id_}}};
    // A completion answers 200 before it is done, and may end in an <Error>. judge_s3() inspects
    // the bodies of writes.
    request.check = completed;
    if (with_checksums()) {
      request.headers = {{kCrcHeader, amz_crc64nvme(bytes_.span())}, {"x-amz-checksum-type", "FULL_OBJECT"}};
    }
    request.body = buffer_of(fmt::format("<CompleteMultipartUpload>{}</CompleteMultipartUpload>", parts));
    return client_.send_wait(std::move(request), stop_).status();
  }

  // If the answer to the completion was lost, the upload is gone and the object exists.
  Result<bool> is_there() {
    const Result<HttpResponse> head = client_.send_wait({.method = "HEAD", .key = key_}, stop_);
    if (head.status().code() == Code::kNotFound) return false;
    if (!head.ok()) return head.status();
    return head->header(kHashHeader) == hash_ && head->header("content-length") == std::to_string(bytes_.size());
  }

  // Incomplete parts cost money, so they are deleted even after a stop, which must still take
  // effect soon.
  void give_up() {
    // A separate stop: the writer's may have been requested, and would end this request before it
    // is sent.
    std::stop_source limit;
    auto answered = std::make_shared<std::promise<void>>();
    client_.send({.method = "DELETE", .key = key_, .query = {{"uploadId", id_}}}, limit.get_token(),
                 [answered](const Result<HttpResponse>&) { answered->set_value(); });
    const std::future<void> end = answered->get_future();
    if (end.wait_for(kGiveUpWithin) != std::future_status::ready) limit.request_stop();
    end.wait();
  }

  S3Client& client_;
  const std::string& key_;
  const Buffer& bytes_;
  const std::stop_token stop_;
  const size_t at_once_;
  const uint64_t part_bytes_;
  const size_t parts_;
  std::string hash_, id_;
  std::vector<std::string> etags_;
};

}  // namespace

Result<bool> upload_in_parts(S3Client& client, const std::string& key, const Buffer& bytes,
                             const S3UploadOptions& options, std::stop_token stop) {
  if (options.part_bytes == 0 || options.parts_at_once == 0 || bytes.empty())
    return invalid_argument("an upload in parts needs parts of some bytes");
  return PartsUpload(client, key, bytes, options, std::move(stop)).run();
}

Status abort_upload(S3Client& client, const std::string& key, const std::string& id, std::stop_token stop) {
  return client.send_wait({.method = "DELETE", .key = key, .query = {{"uploadId", id}}, .also = {404}}, std::move(stop))
      .status();
}

}  // namespace forebay
