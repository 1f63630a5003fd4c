#include "format/manifest.h"

#include <algorithm>

#include <fmt/format.h>

#include "format/object_source.h"
#include "format/open_store.h"
#include "format/stat_all.h"

namespace forebay {

namespace {

constexpr uint64_t kPieceBytes = 4 << 20;

/// The text of an object, piece by piece.
class PieceReader {
 public:
  PieceReader(Store& store, std::string key, uint64_t size, std::stop_token stop)
      : store_(store), key_(std::move(key)), size_(size), stop_(std::move(stop)) {}

  Result<std::string> operator()() {
    ReadRequest request;
    request.key = key_;
    request.expected_size = size_;
    request.range = ByteRange{offset_, std::min(kPieceBytes, size_ - offset_)};
    if (request.range->length == 0) return std::string();
    FOREBAY_ASSIGN(const Buffer piece, read_wait(store_, request, stop_));
    offset_ += piece.size();
    return std::string(reinterpret_cast<const char*>(piece.data()), piece.size());
  }

 private:
  Store& store_;
  const std::string key_;
  const uint64_t size_;
  const std::stop_token stop_;
  uint64_t offset_ = 0;
};

/// True when following `path` step by step never goes above where it began.
bool stays_below(std::string_view path) {
  int depth = 0;
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part == "..")
      --depth;
    else if (!part.empty() && part != ".")
      ++depth;
    if (depth < 0) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

/// How paths of a manifest become keys of the store.
struct PathRule {
  std::string base;  ///< "" or ends in '/'
  bool confined = false;

  Status check(std::string_view path) const {
    if (!url_scheme(path).empty()) {
      if (confined) return invalid_argument(fmt::format("'{}' is a URL, but root= was given", path));
      return path_of_url(path).status();
    }
    if (confined && (path.starts_with('/') || !stays_below(path))) {
      return invalid_argument(fmt::format("'{}' leads out of root=", path));
    }
    return {};
  }
  std::string operator()(std::string_view path) const {
    if (path.starts_with('/')) return std::string(path);
    if (!url_scheme(path).empty()) return path_of_url(path).value();
    return base + std::string(path);
  }
};

Result<PathRule> path_rule(const std::string& manifest_key, const OpenManifestOptions& options) {
  PathRule rule;
  if (options.root) {
    FOREBAY_ASSIGN(rule.base, path_of_url(*options.root));
    if (!rule.base.ends_with('/')) rule.base += '/';
    rule.confined = true;
  } else {
    const size_t slash = manifest_key.rfind('/');
    rule.base = slash == std::string::npos ? "" : manifest_key.substr(0, slash + 1);
  }
  return rule;
}

Result<KeyTable> key_table(Store& store, const ColumnBuilder& paths, const PathRule& rule, std::stop_token stop) {
  KeyTableBuilder keys;
  for (int64_t i = 0; i < paths.size(); ++i) {
    const Status checked = rule.check(paths.text(i));
    if (!checked.ok()) return Status(checked.code(), fmt::format("row {}: {}", i + 1, checked.message()));
    keys.add(paths.text(i), 0);
  }
  int64_t found = 0;
  FOREBAY_RETURN_IF_ERROR(stat_all(
      store, paths.size(), [&](int64_t i) { return rule(paths.text(i)); }, stop,
      [&](int64_t i, std::optional<uint64_t> size) {
        keys.set_object_bytes(static_cast<size_t>(i), size.value_or(0));
        found += size ? 1 : 0;
      }));
  if (found == 0) {
    const std::string first = rule(paths.text(0));
    return not_found(
        fmt::format("none of the {} objects exists, e.g. '{}'; the nearest folder that does is '{}'; say what "
                    "the paths are relative to with root=",
                    paths.size(), store.display_name(first), nearest_folder(store, first)));
  }
  return std::move(keys).in_order();
}

Result<std::unique_ptr<Source>> open(std::shared_ptr<Store> store, const std::string& manifest_key,
                                     const OpenManifestOptions& options, std::stop_token stop) {
  FOREBAY_ASSIGN(const ManifestFormat format, manifest_format(manifest_key));
  FOREBAY_ASSIGN(const ObjectInfo info, stat_wait(*store, manifest_key, stop));
  FOREBAY_ASSIGN(PathRule rule, path_rule(manifest_key, options));
  FOREBAY_ASSIGN(ManifestTable table,
                 parse_manifest(format, options.path_column, PieceReader(*store, manifest_key, info.size, stop)));
  FOREBAY_ASSIGN(KeyTable keys, key_table(*store, table.paths, rule, stop));
  return std::unique_ptr<Source>(
      std::make_unique<ObjectSource>(std::move(store), std::move(rule), std::move(keys), std::move(table.columns)));
}

}  // namespace

Result<std::unique_ptr<Source>> open_manifest(std::shared_ptr<Store> store, const std::string& manifest_key,
                                              const OpenManifestOptions& options, std::stop_token stop) {
  const std::string name = store->display_name(manifest_key);
  auto opened = open(std::move(store), manifest_key, options, std::move(stop));
  if (!opened.ok()) return opened.status().with_key(name);
  return opened;
}

}  // namespace forebay
