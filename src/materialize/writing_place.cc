#include "materialize/writing_place.h"

#include "materialize/local_place.h"
#include "materialize/s3_place.h"

namespace forebay {

Result<std::shared_ptr<WritingPlace>> WritingPlace::open(const std::string& url, const StorageOptions& options,
                                                         std::stop_token stop) {
  if (url.empty()) return invalid_argument("the folder's name is empty; say where to write");
  FOREBAY_ASSIGN(const UrlPlace place, parse_url(url));
  if (place.store.empty()) return local_place(place.path);
  if (place.store.starts_with("s3://")) return s3_place(place, options, std::move(stop));
  return unsupported("cannot be written to: materialised data is written to local folders and to s3://").with_key(url);
}

Result<std::optional<std::string>> read_file(const WritingPlace& place, const std::string& file) {
  FOREBAY_ASSIGN(std::vector<std::optional<std::string>> read, place.read({&file, 1}));
  return std::move(read.front());
}

}  // namespace forebay
