#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>

#include "forebay/buffer.h"
#include "forebay/result.h"
#include "store/s3/s3_client.h"

namespace forebay {

struct S3UploadOptions {
  /// At least 5 MiB on AWS; raised if there would be more than 10,000 parts.
  uint64_t part_bytes = 8 << 20;
  size_t parts_at_once = 8;
};

/// Writes an object in parts, several at a time. They are slices of `bytes`, so nothing is copied.
/// The object appears complete or not at all, and no part is left if one fails or the writer is
/// stopped. Returns false if the upload was aborted by another client meanwhile; a retry may
/// succeed. Waits; must not be called on a thread that delivers answers.
Result<bool> upload_in_parts(S3Client& client, const std::string& key, const Buffer& bytes,
                             const S3UploadOptions& options, std::stop_token stop);

/// Aborts an upload and deletes its parts. OK also if it does not exist any more.
Status abort_upload(S3Client& client, const std::string& key, const std::string& id, std::stop_token stop);

}  // namespace forebay
