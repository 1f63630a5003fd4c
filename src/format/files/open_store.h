#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/data_warnings.h"
#include "store/store.h"

namespace forebay {

/// Options of a store by name, as users pass them.
using StorageOptions = std::map<std::string, std::string>;

/// The place that a URL names. Parsing opens nothing.
struct UrlPlace {
  std::string store;  ///< "" (local files), "s3://bucket" or "http"; equal values mean one store
  std::string path;   ///< key inside the store: a path, an object's key, or the whole URL
};
/// Parses plain paths, file://, s3:// and http(s)://. Other schemes are Unsupported.
Result<UrlPlace> parse_url(std::string_view url);
/// The key of `url`, an element of a list whose first element is `first`. `store` is
/// UrlPlace::store of the list. InvalidArgument if the URL is in another store.
Result<std::string> parse_listed(std::string_view url, std::string_view first, std::string_view store);

/// An open store, and the place in it that a URL names.
struct StoreAndPath {
  std::shared_ptr<Store> store;
  std::string path;                  ///< key inside the store of the object that the URL names
  std::string name;                  ///< UrlPlace::store
  DataWarnings* warnings = nullptr;  ///< collects what an opening of this place skips; may be null
};

/// Opens the store of a URL. This is the only place that knows URL schemes. Does not contact the
/// server.
///
/// An option that the scheme does not know is InvalidArgument, with a list of those it knows. All
/// users of the same place and options share one store as long as any of them uses it. `most`
/// limits the calls of any kind that this store sends to a server at a time.
Result<StoreAndPath> open_store(std::string_view url, const StorageOptions& options = {}, std::optional<int> most = {});

/// The scheme, such as "s3" of "s3://bucket/x"; empty for a plain path.
std::string_view url_scheme(std::string_view url);

}  // namespace forebay
