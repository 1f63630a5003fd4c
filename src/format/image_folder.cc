#include "format/image_folder.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "format/objects/walk.h"

namespace forebay {

namespace {

constexpr std::array<std::string_view, 7> kImageExtensions = {"jpg", "jpeg", "jpe", "jfif", "png", "webp", "bmp"};
constexpr size_t kExamples = 5;
constexpr size_t kMaxExtensionKinds = 100;
constexpr size_t kMaxExtensionLength = 16;

std::string_view file_name(std::string_view key) {
  const size_t slash = key.rfind('/');
  return slash == std::string_view::npos ? key : key.substr(slash + 1);
}

/// Lower case; empty where there is none, or what follows the dot is too long to be one.
std::string extension_of(std::string_view key) {
  const std::string_view name = file_name(key);
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || name.size() - dot - 1 > kMaxExtensionLength) return {};
  std::string extension(name.substr(dot + 1));
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

bool is_image_extension(std::string_view extension) {
  return std::ranges::find(kImageExtensions, extension) != kImageExtensions.end();
}

std::string describe_extensions(const std::map<std::string, uint64_t>& extensions) {
  std::string text;
  for (const auto& [extension, count] : extensions) {
    if (!text.empty()) text += ", ";
    text += extension.empty() ? fmt::format("{} without an extension", count) : fmt::format("{} .{}", count, extension);
  }
  return text;
}

}  // namespace

/// Walks the folders and makes the source; lives as long as the opening.
class ImageFolderOpener {
 public:
  ImageFolderOpener(std::shared_ptr<Store> store, std::string root) {
    source_->store_ = std::move(store);
    source_->root_ = std::move(root);
    if (!source_->root_.empty() && !source_->root_.ends_with('/')) source_->root_ += '/';
  }

  Result<std::unique_ptr<ImageFolder>> open(const ImageFolderOptions& options, std::stop_token stop) {
    source_->labelled_ = options.split_by == "folder";
    keys_ = KeyTableBuilder(options.keep_versions);
    if (!source_->labelled_ && options.split_by != "none") {
      return invalid_argument(fmt::format("split_by='{}': use \"folder\" or \"none\"", options.split_by));
    }
    const Status walked = walk(*source_->store_, source_->root_, std::move(stop),
                               [this](const std::string& folder, ListPage& page) { take(folder, page); });
    // Of the root alone: a folder below it that went away meanwhile is another story.
    if (walked.code() == Code::kNotFound && walked.key() == shown_root()) {
      return not_found("no such folder; give the folder that holds the pictures").with_key(shown_root());
    }
    if (!walked.ok()) return walked;
    FOREBAY_RETURN_IF_ERROR(check_found());
    source_->keys_ = std::move(keys_).sorted();
    source_->version_ = source_->keys_.version();
    std::ranges::sort(source_->report_.not_images);
    if (source_->labelled_) source_->find_class_spans();
    source_->set_schema();
    return std::move(source_);
  }

 private:
  std::string shown_root() const { return source_->store_->display_name(source_->root_); }

  void take(const std::string& folder, ListPage& page) {
    ImageFolderReport& report = source_->report_;
    report.skipped_hidden += page.hidden;
    report.skipped_irregular += page.irregular;
    const bool top = folder.size() == source_->root_.size();
    for (const std::string& below : page.prefixes) {
      if (top) source_->classes_.push_back(below.substr(folder.size(), below.size() - folder.size() - 1));
    }
    for (const ObjectInfo& object : page.objects) {
      const std::string_view key = std::string_view(object.key).substr(source_->root_.size());
      std::string extension = extension_of(key);
      if (!is_image_extension(extension)) {
        leave_out(key, std::move(extension));
        continue;
      }
      if (top && at_top_++ == 0) first_at_top_ = key;
      keys_.add(key, object.size, object.version);
    }
  }

  void leave_out(std::string_view key, std::string extension) {
    ImageFolderReport& report = source_->report_;
    ++report.skipped_not_images;
    const bool known = report.extensions.contains(extension);
    if (known || report.extensions.size() < kMaxExtensionKinds) ++report.extensions[std::move(extension)];
    // Pages come in any order; keeping the smallest makes the report the same on every run.
    auto& examples = report.not_images;
    const auto place = std::ranges::upper_bound(examples, key, std::less<std::string_view>());
    if (place != examples.end() || examples.size() < kExamples) examples.emplace(place, key);
    if (examples.size() > kExamples) examples.pop_back();
  }

  Status check_found() const {
    const ImageFolderReport& report = source_->report_;
    if (keys_.size() == 0) {
      std::string what =
          report.skipped_not_images == 0
              ? std::string("the folder is empty")
              : fmt::format("no pictures (jpg, png, webp, bmp) here; found {}", describe_extensions(report.extensions));
      if (report.skipped_hidden > 0) what += fmt::format("; {} hidden entries were left out", report.skipped_hidden);
      if (report.skipped_irregular > 0) what += fmt::format("; {} dead links were left out", report.skipped_irregular);
      return not_found(what + "; give the folder that holds the pictures").with_key(shown_root());
    }
    if (!source_->labelled_ || at_top_ == 0) return {};
    if (source_->classes_.empty()) {
      return invalid_argument(fmt::format("the folder has no sub-folders: {} pictures lie directly in it, and "
                                          "fb.images takes a folder per class; for pictures without labels use "
                                          "fb.files(\"{}*\") or split_by=\"none\"",
                                          at_top_, shown_root()))
          .with_key(shown_root());
    }
    return invalid_argument(fmt::format("{} pictures lie beside the {} class folders and so have no class, e.g. '{}'; "
                                        "move them into a folder, or use split_by=\"none\" for pictures without labels",
                                        at_top_, source_->classes_.size(), first_at_top_))
        .with_key(shown_root());
  }

  std::unique_ptr<ImageFolder> source_{new ImageFolder()};
  KeyTableBuilder keys_;
  uint64_t at_top_ = 0;
  std::string first_at_top_;
};

void ImageFolder::find_class_spans() {
  std::ranges::sort(classes_);
  for (size_t label = 0; label < classes_.size(); ++label) {
    const std::string folder = classes_[label] + '/';
    // With the slash: "a/" must not find "a-b/".
    const int64_t first = keys_.lower_bound(folder);
    if (first < keys_.size() && keys_.key(first).starts_with(folder)) {
      spans_.push_back({first, static_cast<int64_t>(label)});
    } else {
      report_.empty_classes.push_back(classes_[label]);
    }
  }
  std::ranges::sort(spans_, {}, &ClassSpan::first_id);
  // One value for each class, made once: labels of samples are slices of it, and cost no memory of their own.
  label_values_ = Buffer::allocate(classes_.size() * sizeof(int64_t));
  for (size_t label = 0; label < classes_.size(); ++label) {
    const auto value = static_cast<int64_t>(label);
    std::memcpy(label_values_.data() + label * sizeof value, &value, sizeof value);
  }
}

void ImageFolder::set_schema() {
  Field image, label, key;
  image.name = "image";
  image.kind = FieldKind::kBytes;
  image.fetched = true;
  label.name = "label";
  label.dtype = DType::kInt64;
  key.name = "key";
  key.kind = FieldKind::kText;
  schema_.push_back(image);
  if (labelled_) schema_.push_back(label);
  schema_.push_back(key);
}

uint64_t ImageFolder::index_bytes() const {
  uint64_t bytes = keys_.index_bytes() + spans_.capacity() * sizeof(ClassSpan) + label_values_.size();
  for (const std::string& name : classes_) bytes += sizeof name + name.capacity();
  return bytes;
}

int64_t ImageFolder::label(int64_t id) const {
  // Every id is in a span: pictures beside the class folders were refused.
  return std::prev(std::ranges::upper_bound(spans_, id, {}, &ClassSpan::first_id))->label;
}

Source::Fetch ImageFolder::fetch(int64_t id) const {
  Fetch fetch;
  const std::string_view key = keys_.key(id);
  fetch.store = store_.get();
  fetch.request.key.reserve(root_.size() + key.size());
  fetch.request.key.append(root_).append(key);
  fetch.size = keys_.object_bytes(id);
  fetch.request.expected_size = fetch.size;
  return fetch;
}

std::optional<Identity> ImageFolder::identity(int64_t id) const {
  Hasher hasher;
  if (!hash_object(hasher, key(id), keys_, id)) return std::nullopt;
  // Classes that come or go change the labels of others.
  hasher.update_value(labelled_ ? label(id) : int64_t{-1});
  return hasher.digest();
}

Status ImageFolder::load(int64_t id, Buffer fetched, Record& record) const {
  record.clear();
  record.push_back(Value::of_bytes(std::move(fetched)));
  if (labelled_) {
    const auto offset = static_cast<size_t>(label(id)) * sizeof(int64_t);
    record.push_back(Value::of(Tensor{DType::kInt64, Shape(), label_values_.slice(offset, sizeof(int64_t))}));
  }
  record.push_back(Value::of_text(keys_.key_buffer(id)));
  return {};
}

Status ImageFolder::gather(size_t, std::span<const int64_t> ids, uint8_t* out) const {
  for (const int64_t id : ids) {
    const int64_t value = label(id);
    std::memcpy(out, &value, sizeof value);
    out += sizeof value;
  }
  return {};
}

Result<std::unique_ptr<ImageFolder>> open_image_folder(std::shared_ptr<Store> store, const std::string& root,
                                                       const ImageFolderOptions& options, std::stop_token stop) {
  return ImageFolderOpener(std::move(store), root).open(options, std::move(stop));
}

}  // namespace forebay
