#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "forebay/buffer.h"
#include "store/store.h"

namespace forebay {

/// The <Error> that a refused request is answered with. All members are empty where the server left them out.
struct S3ErrorBody {
  std::string code, message, region, endpoint;
  std::string server_time;  ///< of RequestTimeTooSkewed
};

/// Never fails: what cannot be read stays empty.
S3ErrorBody parse_s3_error(std::string_view body);

/// One page of ListObjectsV2. Names that begin with a dot are counted as hidden and left out; the object called like the
/// prefix itself (a folder marker) is left out. Names behind `until` (where it is not empty) are as if they were not there, and
/// with them the listing ends.
struct S3ListPage {
  ListPage page;
  bool found = false;  ///< the page named anything at all
};
/// Corrupt where it is no such answer, never more memory than the names in it.
Result<S3ListPage> parse_s3_list(std::string_view body, std::string_view prefix, std::string_view until);

/// An upload in parts that nobody has completed or given up.
struct S3PartialUpload {
  std::string key, id;
};
/// One page of ListMultipartUploads; the markers are empty on the last.
struct S3UploadsPage {
  std::vector<S3PartialUpload> uploads;
  std::string next_key, next_id;
};
/// Corrupt where it is no such answer, or goes on without saying where.
Result<S3UploadsPage> parse_s3_uploads(std::string_view body);

/// The text of one element below the root, such as UploadId; Corrupt where it is missing.
Result<std::string> parse_s3_element(std::string_view body, std::string_view name);

inline std::string_view text_view(const Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

}  // namespace forebay
