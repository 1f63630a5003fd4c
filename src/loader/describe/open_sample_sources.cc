#include "loader/describe/open_sample_sources.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "forebay/pipeline.h"
#include "format/arrays.h"
#include "format/files/braces.h"
#include "format/files/imitate_link.h"
#include "format/files/open_store.h"
#include "format/image_folder.h"
#include "format/manifest.h"
#include "format/open_files.h"
#include "loader/describe/parted_source.h"
#include "loader/describe/source_args.h"
#include "loader/describe/types_arg.h"
#include "ops/definition/args.h"

namespace forebay {

namespace {

std::vector<std::string> given_classes(const OpSpec& source) {
  const Json given = source.args.value("classes", Json());
  return given.is_array() ? given.get<std::vector<std::string>>() : std::vector<std::string>();
}

Result<std::unique_ptr<ImageFolder>> open_image_root(const OpSpec& source, const OpenSourceOptions& options) {
  const std::string root = text_arg(source, "root");
  if (root.empty()) return invalid_argument("images: the root is empty; give the folder that holds the class folders");
  FOREBAY_ASSIGN(StoreAndPath place, open_store_for(root, options));
  return open_image_folder(std::move(place.store), place.path,
                           {.split_by = text_arg(source, "split_by", "folder"),
                            .classes = given_classes(source),
                            .keep_versions = options.keep_versions,
                            .warnings = place.warnings},
                           options.stop);
}

KeepVersions keep_versions_of(const OpenSourceOptions& options) {
  return options.keep_versions ? KeepVersions::kYes : KeepVersions::kNo;
}

/// Opens the URLs that braces spell out. In a URL, '?' begins the query and is not a wildcard.
Result<std::unique_ptr<Source>> open_urls(const StoreAndPath& place, const std::string& pattern,
                                          const OpenSourceOptions& options) {
  FOREBAY_ASSIGN(std::vector<std::string> urls, expand_braces(pattern));
  if (pattern.find('*') != std::string::npos) {
    return unsupported(
        "plain HTTP cannot be listed, so '*' matches nothing there: spell names out with braces ({000..099}), give a "
        "list, or "
        "use fb.manifest");
  }
  return open_file_list(place, std::move(urls), options.stop, keep_versions_of(options));
}

Result<std::unique_ptr<Source>> open_given_files(const OpSpec& source, const OpenSourceOptions& options) {
  const Json given = source.args.value("pattern_or_list", Json());
  const std::vector<std::string> names = field_list(given);
  if (names.empty())
    return invalid_argument("files: nothing is given; give a pattern such as 'photos/**/*.jpg', or a list of files");
  FOREBAY_ASSIGN(StoreAndPath place, open_store_for(names.front(), options));
  if (given.is_string() && place.name == "http") return open_urls(place, names.front(), options);
  if (given.is_string()) {
    return open_files(std::move(place.store), place.path, options.stop, keep_versions_of(options), place.warnings);
  }
  return open_file_list(place, names, options.stop, keep_versions_of(options));
}

bool is_local(const std::string& url) {
  const Result<UrlPlace> place = parse_url(url);
  return place.ok() && place->store.empty();
}

StorageOptions link_options(StorageOptions options) {
  // A local store takes no options of buckets. Options of a simulated link apply to any store.
  std::erase_if(options, [](const auto& option) { return !is_link_option(option.first); });
  return options;
}

Result<ManifestLayout> manifest_layout(const OpSpec& source) {
  ManifestLayout layout;
  layout.path_column = text_arg(source, "path", "path");
  layout.header = source.args.value("header", Json(true)) != Json(false);
  layout.columns = field_list(source.args.value("columns", Json()));
  FOREBAY_ASSIGN(layout.types, parse_types(source.args.value("types", Json())));
  return layout;
}

Result<std::unique_ptr<Source>> open_manifest_file(const OpSpec& source, const OpenSourceOptions& options) {
  const std::string url = text_arg(source, "url");
  if (url.empty()) return invalid_argument("manifest: the URL is empty; give a CSV, JSONL or Parquet file");
  Result<StoreAndPath> place = open_store_for(url, options);
  // The options may be for the store of the objects that a local manifest lists.
  const Status options_error = place.ok() || !is_local(url) ? Status() : place.status();
  if (!options_error.ok()) place = open_store(url, link_options(options.storage_options), options.requests);
  if (!place.ok()) return place.status();
  bool opened_other_store = false;
  OpenManifestOptions how;
  how.open_elsewhere = [&](const std::string& other) {
    opened_other_store = true;
    return open_store_for(other, options);
  };
  how.keep_versions = options.keep_versions;
  FOREBAY_ASSIGN(how.layout, manifest_layout(source));
  if (const std::string root = text_arg(source, "root"); !root.empty()) how.root = root;
  auto opened = open_manifest(std::move(*place), how, options.stop);
  // No other store was opened that the options could be for, so they are wrong.
  if (!options_error.ok() && !opened_other_store && opened.ok()) return options_error;
  return opened;
}

// Returns a number that makes the sample identities of data sets without a version unique.
uint64_t next_instance_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

// User code that returns samples by index. It announces only their number and a version.
class DatasetSource final : public SampleSource {
 public:
  DatasetSource(std::string name, int64_t size, std::string version)
      : name_(std::move(name)), size_(size), lasting_(!version.empty()) {
    schema_.open_ended = true;
    const std::string description = fmt::format("{} {}", name_, size_);
    version_ = hash128(lasting_ ? fmt::format("{}\nversion {}", description, version) : description);
    identity_ = lasting_ ? version_ : hash128(fmt::format("{}\nnumber {}", description, next_instance_number()));
  }
  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return size_; }
  Hash128 version() const override { return version_; }
  std::optional<Identity> identity(int64_t id) const override {
    Hasher hasher;
    hasher.update_value(identity_.high);
    hasher.update_value(identity_.low);
    hasher.update_value(id);
    return Identity(hasher.digest(), lasting_);
  }
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
  const bool lasting_;
  Hash128 version_, identity_;
  Schema schema_;
};

template <typename T>
Result<std::shared_ptr<const Source>> as_shared_source(Result<std::unique_ptr<T>> opened) {
  if (!opened.ok()) return std::move(opened).status().with_operator("");
  return std::shared_ptr<const Source>(std::move(*opened));
}

}  // namespace

Result<std::shared_ptr<const Source>> open_images(const OpSpec& source, const OpenSourceOptions& options) {
  return as_shared_source(open_image_root(source, options));
}

Result<std::shared_ptr<const Source>> open_files_step(const OpSpec& source, const OpenSourceOptions& options) {
  return as_shared_source(open_given_files(source, options));
}

Result<std::shared_ptr<const Source>> open_manifest_step(const OpSpec& source, const OpenSourceOptions& options) {
  return as_shared_source(open_manifest_file(source, options));
}

Result<std::shared_ptr<const Source>> open_array_fields(const OpSpec& source, const OpenSourceOptions&) {
  const std::vector<NamedArray> names = named_arrays(source);
  std::vector<ArrayField> fields;
  for (size_t i = 0; i < names.size() && !source.attachment; ++i) {
    ArrayField field;
    field.name = names[i].name;
    field.path = names[i].path;
    fields.push_back(std::move(field));
  }
  const std::vector<Array> none;
  const auto& given = source.attachment ? *std::static_pointer_cast<const std::vector<Array>>(source.attachment) : none;
  if (source.attachment && given.size() != names.size())
    return invalid_argument(fmt::format("arrays: {} arrays for {} names", given.size(), names.size()));
  for (size_t i = 0; i < given.size(); ++i) {
    ArrayField field;
    field.name = names[i].name;
    field.path = given[i].path;
    field.array = {given[i].values.dtype,
                   given[i].values.shape,
                   given[i].values.buffer.data(),
                   given[i].values.buffer.owner(),
                   {}};
    field.array.text = given[i].text;
    fields.push_back(std::move(field));
  }
  FOREBAY_ASSIGN(std::unique_ptr<Source> opened, open_arrays(std::move(fields)));
  return std::shared_ptr<const Source>(std::move(opened));
}

Result<std::shared_ptr<const Source>> open_dataset(const OpSpec& source, const OpenSourceOptions&) {
  const Json size = source.args.value("size", Json());
  if (!size.is_number_integer() || size.get<int64_t>() < 0)
    return invalid_argument("dataset: its length is missing or negative");
  const std::string& name = source.attachment_name.empty() ? source.name : source.attachment_name;
  return std::shared_ptr<const Source>(
      std::make_shared<DatasetSource>(name, size.get<int64_t>(), text_arg(source, "version")));
}

Result<std::vector<std::string>> class_folders(const OpSpec& source, const OpenSourceOptions& options) {
  if (std::vector<std::string> given = given_classes(source); !given.empty()) return given;
  FOREBAY_ASSIGN(std::unique_ptr<ImageFolder> folder, open_image_root(source, options));
  return std::vector<std::string>(folder->classes().begin(), folder->classes().end());
}

std::vector<std::string> classes_of(const Source& source) {
  if (const PartedSource* const parted = as_parted(source)) {
    const auto& branches = parted->branch_sources();
    const std::vector<std::string> first =
        branches.empty() ? std::vector<std::string>() : classes_of(*branches.front());
    const bool agree = std::ranges::all_of(branches, [&](const auto& branch) { return classes_of(*branch) == first; });
    return agree ? first : std::vector<std::string>();
  }
  const auto* const folder = dynamic_cast<const ImageFolder*>(&source);
  if (folder == nullptr) return {};
  return std::vector<std::string>(folder->classes().begin(), folder->classes().end());
}

}  // namespace forebay
