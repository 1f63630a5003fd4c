#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "forebay/buffer.h"
#include "store/store.h"

namespace forebay {

/// The <Error> element in the answer to a refused request. Members that the server left out are
/// empty.
struct S3ErrorBody {
  std::string code, message, region, endpoint;
  std::string server_time;  ///< in RequestTimeTooSkewed
};

/// Parses an error. Never fails: unreadable members stay empty.
S3ErrorBody parse_s3_error(std::string_view body);

/// One page of ListObjectsV2. Names that begin with a dot are left out and counted as hidden. The
/// object named like the prefix itself (a folder marker) is left out. If `until` is not empty,
/// names after it are left out and end the listing.
struct S3ListPage {
  ListPage page;
  bool found = false;  ///< the page had any name at all
};
/// Parses such a page. Corrupt for anything else. Memory is bounded by the names in it.
Result<S3ListPage> parse_s3_list(std::string_view body, std::string_view prefix, std::string_view until);

/// A multipart upload that was neither completed nor aborted.
struct S3PartialUpload {
  std::string key, id;
};
/// One page of ListMultipartUploads. The markers are empty on the last page.
struct S3UploadsPage {
  std::vector<S3PartialUpload> uploads;
  std::string next_key, next_id;
};
/// Parses such a page. Corrupt for anything else, and for a page that announces another without a
/// marker.
Result<S3UploadsPage> parse_s3_uploads(std::string_view body);

/// Returns the text of one element below the root, such as UploadId. Corrupt if it is missing.
Result<std::string> parse_s3_element(std::string_view body, std::string_view name);

inline std::string_view text_view(const Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

}  // namespace forebay
