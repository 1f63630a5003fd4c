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

/// Writes objects to a bucket and cleans up after interrupted writers: the writing side of S3Store,
/// with the same client (signatures, retries, deadlines).
///
/// A write replaces an object completely or not at all. Every call waits, ends soon after a stop,
/// and may be repeated after any result: writing twice gives the same object. Methods may be called
/// from any thread except those that deliver answers.
class S3Writer {
 public:
  explicit S3Writer(std::shared_ptr<S3Client> client, S3UploadOptions options = {})
      : client_(std::move(client)), options_(options) {}

  /// Writes an object in one request up to S3UploadOptions::part_bytes, and otherwise in parts.
  Status put(const std::string& key, const Buffer& bytes, std::stop_token stop);
  /// Writes an object in one request if there is none. Returns false, without writing, if there is
  /// one. Servers that do not know the condition (If-None-Match) overwrite it: a caller that must
  /// know which writer was first reads the object again.
  Result<bool> put_new(const std::string& key, const Buffer& bytes, std::stop_token stop);

  /// Read small objects, or sizes, as they are now; nothing for objects that do not exist. Many
  /// requests run at a time.
  Result<std::vector<std::optional<Buffer>>> get_all(std::span<const std::string> keys, std::stop_token stop);
  Result<std::vector<std::optional<uint64_t>>> sizes(std::span<const std::string> keys, std::stop_token stop);
  /// Returns all objects, on all levels, whose keys begin with `prefix`.
  Result<std::vector<ObjectInfo>> list(const std::string& prefix, std::stop_token stop);
  /// Deletes objects. Missing ones are not an error.
  Status erase(std::span<const std::string> keys, std::stop_token stop);

  /// Returns multipart uploads below `prefix` that were begun and not completed: those of killed
  /// writers, and those in progress.
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
