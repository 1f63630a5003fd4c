#include "materialize/output_location.h"

#include "materialize/local_location.h"
#include "materialize/s3_location.h"

namespace forebay {

Result<std::shared_ptr<OutputLocation>> OutputLocation::open(const std::string& url, const StorageOptions& options,
                                                             std::stop_token stop) {
  if (url.empty()) return invalid_argument("the folder's name is empty; say where to write");
  FOREBAY_ASSIGN(const UrlPlace location, parse_url(url));
  if (location.store.empty()) return local_location(location.path);
  if (location.store.starts_with("s3://")) return s3_location(location, options, std::move(stop));
  return unsupported("cannot be written to: materialised data is written to local folders and to s3://").with_key(url);
}

Result<std::optional<std::string>> read_file(const OutputLocation& location, const std::string& file) {
  FOREBAY_ASSIGN(std::vector<std::optional<std::string>> read, location.read({&file, 1}));
  return std::move(read.front());
}

}  // namespace forebay
