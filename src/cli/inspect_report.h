#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/failure.h"
#include "codec/image.h"
#include "format/image_folder.h"

namespace forebay {

/// Smallest and largest of the values added.
struct Extent {
  int64_t min = INT64_MAX, max = INT64_MIN;

  void add(int64_t value) { min = std::min(min, value), max = std::max(max, value); }
  void add(const Extent& other) { min = std::min(min, other.min), max = std::max(max, other.max); }
  bool empty() const { return min > max; }
  SortedJson to_json() const;  ///< null if nothing was added
};

/// Statistics of the pictures of a folder. Each thread has findings of its own, and the caller
/// merges them under a lock. The result does not depend on how the pictures were divided among
/// threads. The memory is bounded: only the first few errors are retained.
struct PictureFindings {
  static constexpr size_t kMaxUnreadable = 10;
  struct Unreadable {
    int64_t id;
    Status status;
  };

  int64_t count = 0;
  uint64_t bytes = 0;
  Extent object_bytes, width, height;
  std::map<std::string, int64_t> formats;  ///< number of readable pictures by format
  int64_t progressive = 0, rotated = 0;
  int64_t unreadable_count = 0;
  std::vector<Unreadable> unreadable;  ///< the first few by id

  void add_object(uint64_t size);
  void add_picture(const ImageInfo& info);
  void add_unreadable(int64_t id, Status status);
  void merge(PictureFindings other);
};

/// The report of `forebay inspect` about a folder of pictures. Text and JSON have the same content.
struct InspectReport {
  std::string url;
  bool decoded = false;                    ///< whether all pixels were decoded, not only headers
  std::map<std::string, int64_t> classes;  ///< number of pictures by class
  bool labelled = true;
  std::string why_not_labelled;
  ImageFolderReport left_out;
  PictureFindings found;

  SortedJson to_json() const;
  std::string to_text() const;
};

}  // namespace forebay
