#include "format/manifest.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/sniff.h"
#include "format/files/open_store.h"
#include "format/files/stat_all.h"
#include "format/object_lists.h"
#include "format/object_source.h"
#include "format/table/load_codecs.h"
#include "format/table_manifest.h"
#include "store/http/http_url.h"

namespace forebay {

namespace {

constexpr uint64_t kPieceBytes = 4 << 20;

/// Detects lists that are another kind of file by their first bytes, before any bytes are parsed as
/// rows.
Status check_first_bytes(std::span<const uint8_t> head, uint64_t size) {
  FOREBAY_RETURN_IF_ERROR(check_text(head, size));
  const FileKind kind = sniff(head, size).kind;
  const bool other = kind == FileKind::kUtf16Text || kind == FileKind::kHtmlPage || kind == FileKind::kXmlError;
  return other ? wrong_file("a manifest of UTF-8 text", head, size) : Status();
}

/// Reads the text of an object piece by piece. Returns an error if its first bytes are not those of
/// a list.
class PieceReader {
 public:
  PieceReader(Store& store, std::string key, uint64_t size, std::stop_token stop)
      : store_(store), key_(std::move(key)), size_(size), stop_(std::move(stop)) {}

  Result<std::string> operator()() {
    ReadRequest request;
    request.key = key_;
    // A manifest that changes while it is read would be a mix of both versions.
    request.expected_size = size_;
    request.range = ByteRange{offset_, std::min(kPieceBytes, size_ - offset_)};
    if (request.range->length == 0) return std::string();
    FOREBAY_ASSIGN(const Buffer piece, read_wait(store_, request, stop_));
    if (offset_ == 0) {
      FOREBAY_RETURN_IF_ERROR(check_first_bytes(piece.span().first(std::min(piece.size(), kSniffBytes)), size_));
    }
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

/// True if following `path` step by step never goes above its start.
bool stays_below(std::string_view path) {
  int depth = 0;
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part == "..")
      --depth;
    else if (!part.empty() && part != ".")
      ++depth;
    // Checked at each step: "../name/b" may end below its start, but has left it on the way.
    if (depth < 0) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

/// Joins `path` to `folder`, resolving "." and ".." as in URLs, because keys of a bucket do not.
/// The result is never above the first `top_bytes` of `folder`.
std::string joined(std::string folder, std::string_view path, size_t top_bytes) {
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    const bool last = slash == std::string_view::npos;
    if (part == "..") {
      while (folder.size() > top_bytes && folder.ends_with('/')) folder.pop_back();
      while (folder.size() > top_bytes && !folder.ends_with('/')) folder.pop_back();
    } else if (part != ".") {
      folder += path.substr(0, last ? path.size() : slash + 1);
    }
    if (last) return folder;
    path.remove_prefix(slash + 1);
  }
}

/// How paths of a manifest become keys of the store.
struct PathRule {
  std::string store;  ///< store that URLs must name
  std::string base;   ///< "" or ends in '/'
  std::string top;    ///< prefix for paths that begin with "/"
  bool confined = false;

  Status check(std::string_view path) const {
    if (!url_scheme(path).empty()) {
      if (confined) return invalid_argument(fmt::format("'{}' is a URL, but root= was given", url_for_messages(path)));
      FOREBAY_ASSIGN(const UrlPlace location, parse_url(path));
      if (location.store == store) return {};
      return invalid_argument(
          fmt::format("'{}' lies in another store than the objects before it; a manifest is of one store "
                      "(one bucket): make one for each",
                      url_for_messages(path)));
    }
    if (confined && (path.starts_with('/') || !stays_below(path))) {
      return invalid_argument(fmt::format("'{}' leads out of root=", path));
    }
    return {};
  }
  std::string operator()(std::string_view path) const {
    // check() has parsed it before, so this cannot fail.
    if (!url_scheme(path).empty()) return parse_url(path).value().path;
    // A local path keeps its slash; keys of a bucket begin after it.
    if (path.starts_with('/')) return top + std::string(path.substr(top.empty() && store.empty() ? 0 : 1));
    return store.empty() ? base + std::string(path) : joined(base, path, top.size());
  }
};

std::string folder_of(std::string_view key) { return std::string(key.substr(0, key.rfind('/') + 1)); }

/// "https://host/" of a URL; "" for keys of a bucket and for paths.
std::string top_of(const StoreAndPath& location) {
  if (location.name != "http") return {};
  const size_t host = location.path.find("://") + 3;
  return location.path.substr(0, std::min(location.path.find('/', host), location.path.size())) + "/";
}

/// The store of the objects, and how paths become its keys.
struct Objects {
  std::shared_ptr<Store> store;
  PathRule rule;
};

Result<StoreAndPath> open_url(const StoreAndPath& manifest, const std::string& url,
                              const OpenManifestOptions& options) {
  FOREBAY_ASSIGN(UrlPlace location, parse_url(url));
  if (url_scheme(url).empty() || location.store == manifest.name) {
    return StoreAndPath{manifest.store, std::move(location.path), manifest.name};
  }
  if (!options.open_elsewhere)
    return unsupported(fmt::format("'{}' lies in another store than the manifest", url_for_messages(url)));
  return options.open_elsewhere(url);
}

Result<Objects> find_objects(const StoreAndPath& manifest, const ColumnBuilder& paths,
                             const OpenManifestOptions& options) {
  Objects objects{manifest.store, {manifest.name, "", "", false}};
  if (options.root) {
    FOREBAY_ASSIGN(StoreAndPath root, open_url(manifest, *options.root, options));
    objects = {root.store, {root.name, root.path, top_of(root), true}};
    if (!objects.rule.base.empty() && !objects.rule.base.ends_with('/')) objects.rule.base += '/';
    return objects;
  }
  if (const std::string first(paths.text(0)); !url_scheme(first).empty()) {
    FOREBAY_ASSIGN(StoreAndPath location, open_url(manifest, first, options));
    objects.store = location.store;
    objects.rule.store = location.name;
  }
  // Query and fragment of a URL are not part of its folders, but a local name may contain '?' and
  // '#'.
  objects.rule.base = folder_of(
      manifest.path.substr(0, manifest.name == "http" ? manifest.path.find_first_of("?#") : std::string::npos));
  objects.rule.top = top_of(manifest);
  return objects;
}

/// The number of the row that has path `i`, from 1 on.
int64_t row_of(const ManifestTable& table, int64_t i) {
  if (table.path_ends.empty()) return i + 1;
  return std::ranges::upper_bound(table.path_ends, static_cast<uint64_t>(i)) - table.path_ends.begin() + 1;
}

Result<KeyTableBuilder> keys_of(const ManifestTable& table, const PathRule& rule, const StoreAndPath& manifest,
                                bool keep_versions) {
  const ColumnBuilder& paths = table.paths;
  KeyTableBuilder keys(keep_versions);
  for (int64_t i = 0; i < paths.size(); ++i) {
    Status checked = rule.check(paths.text(i));
    if (checked.ok() && !rule.confined && rule.store != manifest.name && url_scheme(paths.text(i)).empty()) {
      checked =
          invalid_argument(fmt::format("'{}' is relative, but the rows before it are URLs of another store than the "
                                       "manifest's; write it as a URL, or give root=",
                                       paths.text(i)));
    }
    if (!checked.ok()) return Status(checked.code(), fmt::format("row {}: {}", row_of(table, i), checked.message()));
    // Stored as written, since the keys of samples are the paths in the manifest; `rule` makes the
    // store's keys.
    keys.add(paths.text(i), 0);
  }
  return keys;
}

/// Gets the sizes by asking the store for each object.
Status ask_sizes(Store& store, const ColumnBuilder& paths, const PathRule& rule, KeyTableBuilder& keys,
                 std::stop_token stop) {
  int64_t found = 0;
  FOREBAY_RETURN_IF_ERROR(stat_all(
      store, paths.size(), [&](int64_t i) { return rule(paths.text(i)); }, stop,
      [&](int64_t i, const ObjectInfo* info) {
        if (info == nullptr) return;
        keys.set_object_bytes(static_cast<size_t>(i), info->size);
        keys.set_object_version(static_cast<size_t>(i), info->version);
        ++found;
      }));
  if (found > 0) return {};
  const std::string first = rule(paths.text(0));
  return not_found(
      fmt::format("none of the {} objects exists, e.g. '{}'; the nearest folder that does is '{}'; say what "
                  "the paths are relative to with root=",
                  paths.size(), store.display_name(first), nearest_folder(store, first)));
}

/// Gets the sizes from the manifest's column `size`.
ObjectSizes take_sizes(const std::vector<Column>& columns, KeyTableBuilder& keys) {
  const auto column = std::ranges::find(columns, "size", [](const Column& each) { return each.field().name; });
  if (column == columns.end() || !column->gathers() || column->field().dtype != DType::kInt64)
    return ObjectSizes::kUnknown;
  std::vector<int64_t> ids(keys.size()), sizes(keys.size());
  std::iota(ids.begin(), ids.end(), int64_t{0});
  column->gather(ids, reinterpret_cast<uint8_t*>(sizes.data()));
  // If some sizes are -1 for unknown, the others are not trusted either.
  if (std::ranges::any_of(sizes, [](int64_t size) { return size < 0; })) return ObjectSizes::kUnknown;
  for (size_t i = 0; i < sizes.size(); ++i) keys.set_object_bytes(i, static_cast<uint64_t>(sizes[i]));
  return ObjectSizes::kKnown;
}

Result<ManifestTable> read_table(const StoreAndPath& location, ManifestFormat format, const ManifestLayout& layout,
                                 const std::stop_token& stop) {
  FOREBAY_RETURN_IF_ERROR(check_manifest_layout(format, layout));
  FOREBAY_ASSIGN(const ObjectInfo info, stat_wait(*location.store, location.path, stop));
  if (format != ManifestFormat::kParquet)
    return parse_manifest(format, layout, PieceReader(*location.store, location.path, info.size, stop));
  FOREBAY_ASSIGN(const TableCodecs* codecs, load_table_codecs());
  return read_table_manifest(location, info, layout, *codecs, stop);
}

Result<std::unique_ptr<Source>> open(const StoreAndPath& location, const OpenManifestOptions& options,
                                     std::stop_token stop) {
  const std::string name =
      location.name == "http" ? location.path.substr(0, location.path.find_first_of("?#")) : location.path;
  FOREBAY_ASSIGN(const ManifestFormat format, manifest_format(name));
  FOREBAY_ASSIGN(ManifestTable table, read_table(location, format, options.layout, stop));
  FOREBAY_ASSIGN(Objects objects, find_objects(location, table.paths, options));
  FOREBAY_ASSIGN(KeyTableBuilder keys, keys_of(table, objects.rule, location, options.keep_versions));
  ObjectSizes sizes = ObjectSizes::kKnown;
  if (objects.store->remote()) {
    sizes = table.path_ends.empty() ? take_sizes(table.columns, keys) : ObjectSizes::kUnknown;
  } else {
    FOREBAY_RETURN_IF_ERROR(ask_sizes(*objects.store, table.paths, objects.rule, keys, stop));
  }
  // Local files were asked for above, and their versions are in the table.
  const ObjectVersions versions =
      options.keep_versions && objects.store->remote() ? ObjectVersions::kLearned : ObjectVersions::kFromTable;
  const bool lists = !table.path_ends.empty();
  auto source =
      std::make_unique<ObjectSource>(std::move(objects.store), std::move(objects.rule), std::move(keys).in_order(),
                                     lists ? std::vector<Column>() : std::move(table.columns), sizes, versions);
  if (!lists) return std::unique_ptr<Source>(std::move(source));
  FOREBAY_ASSIGN(Column written, std::move(table.keys).finish());
  PackedInts ends(table.path_ends.size(), table.path_ends.back());
  for (const uint64_t end : table.path_ends) ends.push_back(end);
  return std::unique_ptr<Source>(std::make_unique<ObjectLists>(
      std::move(source), std::move(ends), std::move(written).named("key"), std::move(table.columns)));
}

}  // namespace

Result<std::unique_ptr<Source>> open_manifest(StoreAndPath location, const OpenManifestOptions& options,
                                              std::stop_token stop) {
  auto opened = open(location, options, std::move(stop));
  if (!opened.ok()) return opened.status().with_key(location.store->display_name(location.path));
  return opened;
}

}  // namespace forebay
