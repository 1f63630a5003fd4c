#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "store/s3/s3_answers.h"
#include "store/s3/s3_client.h"
#include "store/s3/s3_upload.h"
#include "store/store.h"

namespace forebay {

/// Writes objects to a bucket, and takes away what is left over: the writing side of S3Store, with the same client (signatures, retries, deadlines).
///
/// An object is there as a whole, or what was there before. Every call waits, ends soon after a stop, and may be tried again whatever it
/// answered: what is written twice is the same. Any thread but those that answer.
class S3Writer {
 public:
  explicit S3Writer(std::shared_ptr<S3Client> client, S3UploadOptions options = {})
      : client_(std::move(client)), options_(options) {}

  /// In one request up to S3UploadOptions::part_bytes, else in parts.
  Status put(const std::string& key, const Buffer& bytes, std::stop_token stop);
  /// One request; false, and nothing written, where there is an object already. Servers that do not know the condition (If-None-Match) write
  /// over it: whoever needs to know who was first reads it again.
  Result<bool> put_new(const std::string& key, const Buffer& bytes, std::stop_token stop);

  /// Small objects as they are now, and sizes; nothing for those that are not there. Many at a time.
  Result<std::vector<std::optional<Buffer>>> get_all(std::span<const std::string> keys, std::stop_token stop);
  Result<std::vector<std::optional<uint64_t>>> sizes(std::span<const std::string> keys, std::stop_token stop);
  /// All objects whose keys begin so, of all levels.
  Result<std::vector<ObjectInfo>> list(const std::string& prefix, std::stop_token stop);
  /// Those that are not there are no error.
  Status erase(std::span<const std::string> keys, std::stop_token stop);

  /// Uploads in parts below it that were begun and not completed: what writers that were killed leave, and what others are writing now.
  Result<std::vector<S3PartialUpload>> unfinished(const std::string& prefix, std::stop_token stop);
  Status abort(const S3PartialUpload& upload, std::stop_token stop);

  std::string name(const std::string& key) const { return client_->name(key); }

 private:
  Status put_in_parts(const std::string& key, const Buffer& bytes, const std::stop_token& stop);
  S3Request put_request(const std::string& key, const Buffer& bytes) const;
  bool no_object(const Status& status) const;

  const std::shared_ptr<S3Client> client_;
  const S3UploadOptions options_;
};

}  // namespace forebay
