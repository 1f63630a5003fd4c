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
  uint64_t part_bytes = 8 << 20;  ///< at least 5 MiB on AWS; larger where there would be more than 10,000 parts
  size_t parts_at_once = 8;
};

/// Writes an object in parts, some at a time; they are slices of `bytes`, so nothing is copied. It is there as a whole or not at all, and of parts
/// nothing is left behind where one fails or the writer is stopped. False where somebody took the upload away meanwhile: another try may have it
/// to itself. Waits; never on a thread that answers.
Result<bool> upload_in_parts(S3Client& client, const std::string& key, const Buffer& bytes,
                             const S3UploadOptions& options, std::stop_token stop);

/// Gives an upload up, with its parts: OK also where it is not there any more.
Status abort_upload(S3Client& client, const std::string& key, const std::string& id, std::stop_token stop);

}  // namespace forebay
