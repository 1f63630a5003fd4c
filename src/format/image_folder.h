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

struct ImageFolderOptions {
  /// "folder": the folders directly below the root are the classes. "none": no labels, pictures may lie anywhere.
  std::string split_by = "folder";
  /// The class folders in the order of their labels; empty: all folders, in byte order. Other folders are left out, with a warning;
  /// a class without a folder keeps its label.
  std::vector<std::string> classes = {};
  bool keep_versions = false;        ///< for Source::identity(): eight bytes a sample
  DataWarnings* warnings = nullptr;  ///< collects what is left out; may be null
};

/// What the listing of an image folder left out.
struct ImageFolderReport {
  uint64_t skipped_hidden = 0;
  uint64_t skipped_not_images = 0;
  uint64_t skipped_irregular = 0;              ///< links that run in circles, dead links that name no picture
  std::vector<std::string> not_images;         ///< the first five, in byte order
  std::map<std::string, uint64_t> extensions;  ///< of what is not an image, lower case, "" without; at most 100 kinds
  std::vector<std::string> empty_classes;      ///< folders without a picture; they keep their label
};

/// Pictures in folders, as `fb.images` describes it: fields `image` (encoded), `label` (int64: the rank of the class
/// folder in byte order, or in ImageFolderOptions::classes), `key` (path below the root). The id is the rank of the key in byte order.
class ImageFolder final : public SampleSource {
 public:
  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return keys_.size(); }
  Hash128 version() const override { return version_; }
  uint64_t index_bytes() const override;
  std::string key(int64_t id) const override { return store_->display_name(root_ + std::string(keys_.key(id))); }
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
  /// The keys of a class are neighbours, but their order is not the order of the class names ("a-b/" < "a/").
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
  Buffer label_values_;  ///< 0, 1, 2, ...: what label tensors point at
  ImageFolderReport report_;
};

/// `root` is a key inside the store. Describes what is there instead where it is not a folder of pictures.
/// A dead link with the name of a picture is a sample whose read is NotFound. Waits for the listing.
/// Errors: InvalidArgument where pictures lie beside the class folders; NotFound where there is nothing, or where a dead link at the
/// root may have been a class; Unsupported where a class has files and none of them is read.
Result<std::unique_ptr<ImageFolder>> open_image_folder(std::shared_ptr<Store> store, const std::string& root,
                                                       const ImageFolderOptions& options, std::stop_token stop);

}  // namespace forebay
