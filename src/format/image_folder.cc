#include "format/image_folder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/sniff.h"
#include "format/files/left_out.h"
#include "format/files/walk.h"

namespace forebay {

namespace {

constexpr std::array<std::string_view, 7> kImageExtensions = {"jpg", "jpeg", "jpe", "jfif", "png", "webp", "bmp"};
constexpr size_t kExamples = 5;
constexpr size_t kMaxExtensionKinds = 100;

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

constexpr OmissionReason kOtherFolders{"other_folders", "folder is not in classes= and is left out",
                                       "folders are not in classes= and are left out",
                                       "add them to classes=, or move them away"};

/// The class folder that contains a key, if a folder does.
std::string_view class_of(std::string_view key) { return key.substr(0, std::min(key.find('/'), key.size())); }

}  // namespace

/// Walks the folders and builds the source. It exists only while the source is opened.
class ImageFolderOpener {
 public:
  ImageFolderOpener(std::shared_ptr<Store> store, std::string root) {
    source_->store_ = std::move(store);
    source_->root_ = std::move(root);
    if (!source_->root_.empty() && !source_->root_.ends_with('/')) source_->root_ += '/';
  }

  Result<std::unique_ptr<ImageFolder>> open(const ImageFolderOptions& options, std::stop_token stop) {
    source_->labelled_ = options.split_by == "folder";
    warnings_ = options.warnings;
    given_.insert(options.classes.begin(), options.classes.end());
    source_->classes_ = options.classes;
    keys_ = KeyTableBuilder(options.keep_versions);
    if (!source_->labelled_ && options.split_by != "none") {
      return invalid_argument(fmt::format("split_by='{}': use \"folder\" or \"none\"", options.split_by));
    }
    const Status walked = walk(*source_->store_, source_->root_, std::move(stop),
                               [this](const std::string& folder, ListPage& page) { add_page(folder, page); });
    // Only for the root. A folder below it that disappears during the walk is reported as it is.
    if (walked.code() == Code::kNotFound && walked.key() == shown_root()) {
      return not_found("no such folder; give the folder that holds the pictures").with_key(shown_root());
    }
    if (!walked.ok()) return walked;
    FOREBAY_RETURN_IF_ERROR(check_found());
    if (source_->labelled_) FOREBAY_RETURN_IF_ERROR(check_classes());
    source_->keys_ = std::move(keys_).sorted();
    source_->version_ = source_->keys_.version();
    std::ranges::sort(source_->report_.not_images);
    if (source_->labelled_) source_->find_class_spans(/*sorted=*/given_.empty());
    source_->set_schema();
    return std::move(source_);
  }

 private:
  std::string shown_root() const { return source_->store_->display_name(source_->root_); }

  /// Adds the pictures of one page of the listing of `folder`, and reports its other objects.
  void add_page(const std::string& folder, ListPage& page) {
    ImageFolderReport& report = source_->report_;
    report.skipped_hidden += page.hidden;
    report.skipped_irregular += page.circular.size();
    for (const std::string& link : page.circular) warn(kCircularLinks, below_root(link));
    const bool top = folder.size() == source_->root_.size();
    if (top && source_->labelled_) select_class_folders(page);
    for (const ObjectInfo& object : page.objects) {
      const std::string_view key = below_root(object.key);
      std::string extension = extension_of(key);
      if (!is_image_extension(extension)) {
        object.dead_link ? note_dead_link(key, top) : note_unread_file(key, std::move(extension));
        continue;
      }
      if (top && at_top_++ == 0) first_at_top_ = key;
      if (source_->labelled_ && !read_classes_.contains(class_of(key))) read_classes_.emplace(class_of(key));
      keys_.add(key, object.size, object.version);
    }
  }

  /// Adds the folders of the root as classes. If `classes` was given, removes the other folders from
  /// the page instead, so that walk() does not enter them.
  void select_class_folders(ListPage& page) {
    std::erase_if(page.prefixes, [&](const std::string& folder) {
      const std::string_view with_slash = below_root(folder);
      std::string name(with_slash.substr(0, with_slash.size() - 1));
      if (given_.empty()) {
        source_->classes_.push_back(std::move(name));
        return false;
      }
      if (given_.contains(name)) return false;
      warn(kOtherFolders, name);
      return true;
    });
  }

  std::string_view below_root(std::string_view key) const { return key.substr(source_->root_.size()); }

  void warn(const OmissionReason& kind, std::string_view name) {
    if (warnings_ != nullptr) warnings_->add(kind, name);
  }

  /// Skips a dead link that is not named like a picture.
  void note_dead_link(std::string_view key, bool top) {
    ++source_->report_.skipped_irregular;
    // A missing class would change the labels of later classes. With given classes no label can
    // change.
    if (top && source_->labelled_ && given_.empty() && may_name_folder(key)) dead_classes_.emplace(key);
    if (!top) count_unread_file(key);
    warn(kDeadLinks, key);
  }

  void note_unread_file(std::string_view key, std::string extension) {
    ImageFolderReport& report = source_->report_;
    ++report.skipped_not_images;
    if (looks_like_data(name_of_key(key))) {
      warn(kUnreadFiles, key);
      if (key.find('/') != std::string_view::npos) count_unread_file(key);
    }
    const bool known = report.extensions.contains(extension);
    if (known || report.extensions.size() < kMaxExtensionKinds) ++report.extensions[std::move(extension)];
    // Pages arrive in any order. Keeping the smallest names makes the report the same on every run.
    auto& examples = report.not_images;
    const auto position = std::ranges::upper_bound(examples, key, std::less<std::string_view>());
    if (position != examples.end() || examples.size() < kExamples) examples.emplace(position, key);
    if (examples.size() > kExamples) examples.pop_back();
  }

  /// Counts a file in a class folder that looks like data and is not read; see check_classes().
  void count_unread_file(std::string_view key) {
    if (!source_->labelled_) return;
    UnreadFiles& unread = unread_[std::string(class_of(key))];
    if (unread.count++ == 0 || key < unread.first) unread.first = key;
  }

  /// No class may be empty because its files are not read, and no class may be missing because its
  /// folder is missing.
  Status check_classes() const {
    if (!dead_classes_.empty()) {
      return not_found(fmt::format(
                           "'{}' is a symbolic link that leads nowhere. It may be a class, and without it the classes "
                           "behind it would get other labels: mount or fetch what it leads to, remove the link, or "
                           "give the classes with classes=[…]",
                           *dead_classes_.begin()))
          .with_key(shown_root());
    }
    for (const auto& [name, unread] : unread_) {
      if (read_classes_.contains(name)) continue;
      return unsupported(
                 fmt::format("the class '{}' has no picture in a format that is read (jpg, png, webp, bmp), but {} "
                             "other file{}, such as '{}': convert them, remove the folder, or leave it out of "
                             "classes=[…]",
                             name, unread.count, unread.count == 1 ? "" : "s", unread.first))
          .with_key(shown_root());
    }
    return {};
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
      if (!given_.empty()) what += "; no folder that classes= names has a picture";
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
  DataWarnings* warnings_ = nullptr;
  std::set<std::string, std::less<>> given_;         // ImageFolderOptions::classes
  std::set<std::string, std::less<>> read_classes_;  // those with pictures
  struct UnreadFiles {
    int64_t count = 0;
    std::string first;  // in byte order
  };
  std::map<std::string, UnreadFiles, std::less<>> unread_;  // by class
  std::set<std::string> dead_classes_;                      // dead links at the root that may be class folders
  uint64_t at_top_ = 0;                                     // pictures directly in the root
  std::string first_at_top_;                                // the one that was listed first
};

void ImageFolder::find_class_spans(bool sorted) {
  if (sorted) std::ranges::sort(classes_);
  for (size_t label = 0; label < classes_.size(); ++label) {
    const std::string folder = classes_[label] + '/';
    // The slash prevents "a/" from finding "a-b/".
    const int64_t first = keys_.lower_bound(folder);
    if (first < keys_.size() && keys_.key(first).starts_with(folder)) {
      spans_.push_back({first, static_cast<int64_t>(label)});
    } else {
      report_.empty_classes.push_back(classes_[label]);
    }
  }
  std::ranges::sort(spans_, {}, &ClassSpan::first_id);
  // Labels of samples are slices of this buffer, so they need no memory of their own.
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
  // Every id is in a span, because pictures next to the class folders were refused.
  return std::prev(std::ranges::upper_bound(spans_, id, {}, &ClassSpan::first_id))->label;
}

SampleSource::Fetch ImageFolder::fetch(int64_t id) const {
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
  // Adding or removing a class changes the labels of others.
  hasher.update_value(labelled_ ? label(id) : int64_t{-1});
  return hasher.digest();
}

Status ImageFolder::load(int64_t id, Buffer fetched, Record& record) const {
  if (fetched.owner()) FOREBAY_RETURN_IF_ERROR(check_no_pointer(fetched.span(), fetched.size()));
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
