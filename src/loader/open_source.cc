#include "loader/open_source.h"

#include <charconv>
#include <set>

#include <fmt/format.h>

#include "forebay/pipeline.h"
#include "format/arrays.h"
#include "format/files.h"
#include "format/image_folder.h"
#include "format/manifest.h"
#include "format/open_store.h"
#include "loader/compile.h"
#include "store/slow/slow_store.h"

namespace forebay {

namespace {

using Storage = std::map<std::string, std::string>;

Result<double> number_option(const Storage& options, const std::string& name) {
  auto found = options.find(name);
  if (found == options.end()) return 0.0;
  double value = 0;
  const std::string& text = found->second;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || !(value >= 0)) {
    return invalid_argument(fmt::format("storage option {}={} is not a number of 0 or more", name, text));
  }
  return value;
}

// Options imitate_* put a slow, unreliable link before any store.
Result<std::shared_ptr<Store>> imitate_link(std::shared_ptr<Store> store, const Storage& options) {
  static const std::set<std::string> kKnown = {"imitate_latency_ms", "imitate_jitter_ms",
                                               "imitate_bandwidth_bytes_per_s", "imitate_error_rate", "imitate_seed"};
  for (const auto& [name, value] : options) {
    if (kKnown.contains(name)) continue;
    std::string known;
    for (const std::string& option : kKnown) known += (known.empty() ? "" : ", ") + option;
    return invalid_argument(fmt::format("there is no storage option '{}'; local files have: {}", name, known));
  }
  if (options.empty()) return store;
  SlowOptions slow;
  FOREBAY_ASSIGN(slow.latency_ms, number_option(options, "imitate_latency_ms"));
  FOREBAY_ASSIGN(slow.jitter_ms, number_option(options, "imitate_jitter_ms"));
  FOREBAY_ASSIGN(slow.bandwidth_bytes_per_s, number_option(options, "imitate_bandwidth_bytes_per_s"));
  FOREBAY_ASSIGN(slow.error_rate, number_option(options, "imitate_error_rate"));
  FOREBAY_ASSIGN(const double seed, number_option(options, "imitate_seed"));
  slow.seed = static_cast<uint64_t>(seed);
  return std::shared_ptr<Store>(slow_store(std::move(store), slow));
}

std::string text_arg(const OpSpec& source, const char* name, const std::string& otherwise = "") {
  const Json value = source.args.value(name, Json());
  return value.is_string() ? value.get<std::string>() : otherwise;
}

Result<std::unique_ptr<ImageFolder>> open_images(const OpSpec& source, const OpenSourceOptions& options) {
  const std::string root = text_arg(source, "root");
  if (root.empty()) return invalid_argument("images: the root is empty; give the folder that holds the class folders");
  FOREBAY_ASSIGN(StoreAndPath place, open_store(root));
  FOREBAY_ASSIGN(std::shared_ptr<Store> store, imitate_link(place.store, options.storage_options));
  return open_image_folder(std::move(store), place.path, {.split_by = text_arg(source, "split_by", "folder")},
                           options.stop);
}

Result<std::unique_ptr<Source>> open_files_of(const OpSpec& source, const OpenSourceOptions& options) {
  const Json given = source.args.value("pattern_or_list", Json());
  const std::vector<std::string> names = field_list(given);
  if (names.empty())
    return invalid_argument("files: nothing is given; give a pattern such as 'photos/**/*.jpg', or a list of files");
  FOREBAY_ASSIGN(StoreAndPath place, open_store(names.front()));
  FOREBAY_ASSIGN(std::shared_ptr<Store> store, imitate_link(place.store, options.storage_options));
  if (given.is_string()) return open_files(std::move(store), place.path, options.stop);
  return open_file_list(std::move(store), names, options.stop);
}

Result<std::unique_ptr<Source>> open_manifest_of(const OpSpec& source, const OpenSourceOptions& options) {
  const std::string url = text_arg(source, "url");
  if (url.empty()) return invalid_argument("manifest: the URL is empty; give a CSV or JSONL file");
  FOREBAY_ASSIGN(StoreAndPath place, open_store(url));
  FOREBAY_ASSIGN(std::shared_ptr<Store> store, imitate_link(place.store, options.storage_options));
  OpenManifestOptions how;
  how.path_column = text_arg(source, "path", "path");
  if (const std::string root = text_arg(source, "root"); !root.empty()) how.root = root;
  return open_manifest(std::move(store), place.path, how, options.stop);
}

Result<std::shared_ptr<const Source>> open_array_fields(const OpSpec& source) {
  if (!source.attachment)
    return invalid_argument("arrays: the arrays themselves are missing; a pipeline read from JSON has none");
  const auto& given = *std::static_pointer_cast<const std::vector<Array>>(source.attachment);
  const std::vector<std::string> names = field_list(source.args.value("fields", Json()));
  std::vector<ArrayField> fields;
  for (size_t i = 0; i < given.size() && i < names.size(); ++i) {
    ArrayField field;
    field.name = names[i];
    field.path = given[i].path;
    field.array = {given[i].values.dtype,
                   given[i].values.shape,
                   given[i].values.buffer.data(),
                   given[i].values.buffer.owner(),
                   {}};
    fields.push_back(std::move(field));
  }
  FOREBAY_ASSIGN(std::unique_ptr<Source> opened, open_arrays(std::move(fields)));
  return std::shared_ptr<const Source>(std::move(opened));
}

// User code that gives samples by index: all that is known is how many there are.
class DatasetSource final : public Source {
 public:
  DatasetSource(std::string name, int64_t size) : name_(std::move(name)), size_(size) { schema_.open_ended = true; }
  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return size_; }
  Hash128 version() const override { return hash128(fmt::format("{} {}", name_, size_)); }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t id) const override { return fmt::format("{}[{}]", name_, id); }
  Fetch fetch(int64_t) const override { return {}; }
  Status load(int64_t, Buffer, Record& record) const override {
    record.clear();
    return {};
  }

 private:
  const std::string name_;
  const int64_t size_;
  Schema schema_;
};

template <typename T>
Result<std::shared_ptr<const Source>> shared(Result<std::unique_ptr<T>> opened) {
  if (!opened.ok()) return std::move(opened).status().with_operator("");
  return std::shared_ptr<const Source>(std::move(*opened));
}

}  // namespace

Result<std::shared_ptr<const Source>> open_source(const OpSpec& source, const OpenSourceOptions& options) {
  if (source.name == "images") return shared(open_images(source, options));
  if (source.name == "files") return shared(open_files_of(source, options));
  if (source.name == "manifest") return shared(open_manifest_of(source, options));
  if (source.name == "arrays") return open_array_fields(source);
  if (source.name == "dataset") {
    const Json size = source.args.value("size", Json());
    if (!size.is_number_integer() || size.get<int64_t>() < 0)
      return invalid_argument("dataset: its length is missing or negative");
    const std::string& name = source.attachment_name.empty() ? source.name : source.attachment_name;
    return std::shared_ptr<const Source>(std::make_shared<DatasetSource>(name, size.get<int64_t>()));
  }
  return problems_as_status(check(Description(source)));
}

Result<std::vector<std::string>> class_names(const OpSpec& source, const OpenSourceOptions& options) {
  if (source.name != "images") {
    return invalid_argument(
        fmt::format("the source is {}; only images have classes (the folders below the root)", source.name));
  }
  FOREBAY_ASSIGN(std::unique_ptr<ImageFolder> folder, open_images(source, options));
  return std::vector<std::string>(folder->classes().begin(), folder->classes().end());
}

}  // namespace forebay
