#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/data_warnings.h"
#include "store/store.h"

namespace forebay {

/// Options of a store by name, as users give them.
using StorageOptions = std::map<std::string, std::string>;

/// What a URL names, before anything is opened.
struct UrlPlace {
  std::string store;  ///< "" (local files), "s3://bucket" or "http"; equal ones are one store
  std::string path;   ///< key inside the store: a path, an object's key, or the whole URL
};
/// Plain paths, file://, s3:// and http(s)://; others are Unsupported and say so.
Result<UrlPlace> parse_url(std::string_view url);
/// The key of `url`, one of a list that begins with `first` in `store` (UrlPlace::store). InvalidArgument where it lies in another store.
Result<std::string> parse_listed(std::string_view url, std::string_view first, std::string_view store);

struct StoreAndPath {
  std::shared_ptr<Store> store;
  std::string path;                  ///< key inside the store of what the URL names
  std::string name;                  ///< UrlPlace::store
  DataWarnings* warnings = nullptr;  ///< collects what an opening of this place leaves out; null: nobody asks
};

/// The one place that knows URL schemes. Options are checked: a name that the scheme does not know is InvalidArgument with
/// those it knows. Stores of the same place and options are shared by all who use them at the same time. Does not ask the server
/// for anything. `most`: through this one a server gets at most so many calls at a time, whatever they are for.
Result<StoreAndPath> open_store(std::string_view url, const StorageOptions& options = {}, std::optional<int> most = {});

/// "s3" of "s3://bucket/x"; empty for a plain path.
std::string_view url_scheme(std::string_view url);

}  // namespace forebay
