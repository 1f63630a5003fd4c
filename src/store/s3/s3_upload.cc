#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "store/s3/s3_answers.h"
#include "store/s3/s3_store.h"

namespace forebay {

namespace {

constexpr uint64_t kMaxParts = 10'000;

Buffer buffer_of(std::string_view text) {
  Buffer buffer = Buffer::allocate(text.size());
  std::ranges::copy(text, buffer.data());
  return buffer;
}

}  // namespace

Status S3Store::put(const std::string& key, Buffer bytes, std::stop_token stop, uint64_t part_bytes) {
  forget(key);
  const Status written = bytes.size() > part_bytes
                             ? put_parts(key, bytes, part_bytes, stop)
                             : client_->send_wait({.method = "PUT", .key = key, .body = bytes}, stop).status();
  return written.ok() ? Status() : Status(written).with_key(display_name(key));
}

Status S3Store::put_parts(const std::string& key, const Buffer& bytes, uint64_t part_bytes, std::stop_token stop) {
  const uint64_t size = bytes.size();
  if (part_bytes == 0 || (size + part_bytes - 1) / part_bytes > kMaxParts) {
    return invalid_argument(fmt::format("{} bytes in parts of {} are more than {} parts; make the parts larger", size,
                                        part_bytes, kMaxParts));
  }
  FOREBAY_ASSIGN(const HttpResponse begun,
                 client_->send_wait({.method = "POST", .key = key, .query = {{"uploads", ""}}}, stop));
  FOREBAY_ASSIGN(const std::string upload, parse_s3_element(text_view(begun.body), "UploadId"));

  const auto send_all = [&]() -> Status {
    std::string parts;
    for (uint64_t offset = 0, part = 1; offset < size; offset += part_bytes, ++part) {
      S3Request request{
          .method = "PUT", .key = key, .query = {{"partNumber", std::to_string(part)}, {"uploadId", upload}}};
      request.body = bytes.slice(offset, std::min(part_bytes, size - offset));
      FOREBAY_ASSIGN(const HttpResponse sent, client_->send_wait(std::move(request), stop));
      parts += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", part, sent.header("etag"));
    }
    S3Request complete{.method = "POST", .key = key, .query = {{"uploadId", upload}}};
    complete.body = buffer_of(fmt::format("<CompleteMultipartUpload>{}</CompleteMultipartUpload>", parts));
    return client_->send_wait(std::move(complete), stop).status();
  };
  const Status sent = send_all();
  // Parts that nobody completes are paid for; so they go, also where the writer was stopped.
  if (!sent.ok()) (void)client_->send_wait({.method = "DELETE", .key = key, .query = {{"uploadId", upload}}}, {});
  return sent;
}

Status S3Store::erase(const std::string& key, std::stop_token stop) {
  forget(key);
  const Status erased = client_->send_wait({.method = "DELETE", .key = key}, stop).status();
  return erased.ok() ? Status() : Status(erased).with_key(display_name(key));
}

Status S3Store::create_bucket(std::stop_token stop) { return client_->send_wait({.method = "PUT"}, stop).status(); }

}  // namespace forebay
