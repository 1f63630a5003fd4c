#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/data_warnings.h"
#include "base/source.h"
#include "format/files/key_table.h"
#include "store/store.h"

namespace forebay {

/// How open_image_folder() assigns labels.
struct ImageFolderOptions {
  /// "folder": each folder directly below the root is a class. "none": there are no labels, and
  /// pictures may lie in any folder.
  std::string split_by = "folder";
  /// The class folders in the order of their labels; empty means all folders in byte order. Other
  /// folders are skipped with a warning. A class without a folder keeps its label.
  std::vector<std::string> classes = {};
  bool keep_versions = false;        ///< stores eight bytes per sample for Source::identity()
  DataWarnings* warnings = nullptr;  ///< collects skipped objects; may be null
};

/// Counts of the objects that the listing of an image folder skipped.
struct ImageFolderReport {
  uint64_t skipped_hidden = 0;
  uint64_t skipped_not_images = 0;
  uint64_t skipped_irregular = 0;       ///< circular links, and dead links not named like a picture
  std::vector<std::string> not_images;  ///< the first five, in byte order
  /// Count of skipped files by extension, in lower case, "" for none; at most 100 extensions.
  std::map<std::string, uint64_t> extensions;
  std::vector<std::string> empty_classes;  ///< folders without a picture; they keep their label
};

/// Pictures in folders, as `fb.images` describes them. The fields are `image` (encoded), `label`
/// and `key`. The label is an int64: the index of the class folder in byte order, or in
/// ImageFolderOptions::classes. The key is the path below the root, and the id is its rank in byte
/// order. Immutable; any thread may use it.
class ImageFolder final : public SampleSource {
 public:
  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return keys_.size(); }
  Hash128 version() const override { return version_; }
  uint64_t index_bytes() const override;
  std::string key(int64_t id) const override { return store_->display_name(root_ + std::string(keys_.key(id))); }
  std::string lasting_key(int64_t id) const override { return std::string(keys_.key(id)); }
  std::optional<Identity> identity(int64_t id) const override;
  Fetch fetch(int64_t id) const override;
  Status load(int64_t id, Buffer fetched, Record& record) const override;
  bool gathers(size_t field) const override { return labelled_ && field == kLabel; }
  Status gather(size_t field, std::span<const int64_t> ids, uint8_t* out) const override;

  std::span<const std::string> classes() const { return classes_; }
  int64_t label(int64_t id) const;
  const ImageFolderReport& report() const { return report_; }

 private:
  friend class ImageFolderOpener;
  static constexpr size_t kLabel = 1;
  /// The ids of one class. The keys of a class are contiguous, but they are not in the order of the
  /// class names: "a-b/" sorts before "a/".
  struct ClassSpan {
    int64_t first_id;
    int64_t label;
  };
  ImageFolder() = default;
  void find_class_spans(bool sorted);
  void set_schema();

  std::shared_ptr<Store> store_;
  std::string root_;  ///< "" or ends in '/'
  bool labelled_ = true;
  KeyTable keys_;
  Schema schema_;
  Hash128 version_;
  std::vector<std::string> classes_;
  std::vector<ClassSpan> spans_;
  Buffer label_values_;  ///< 0, 1, 2, ...: the memory that label tensors refer to
  ImageFolderReport report_;
};

/// Opens the folder `root`, a key inside the store. Waits for the listing. A dead link that is
/// named like a picture is a sample whose read is NotFound.
///
/// Errors, each describing what was found: InvalidArgument if pictures lie next to the class
/// folders; NotFound if there are no pictures, or if a dead link at the root may have been a class;
/// Unsupported if a class has files but none in a format that is read.
Result<std::unique_ptr<ImageFolder>> open_image_folder(std::shared_ptr<Store> store, const std::string& root,
                                                       const ImageFolderOptions& options, std::stop_token stop);

}  // namespace forebay
