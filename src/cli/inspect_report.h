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

/// Smallest and largest of what was seen.
struct Extent {
  int64_t min = INT64_MAX, max = INT64_MIN;

  void add(int64_t value) { min = std::min(min, value), max = std::max(max, value); }
  void add(const Extent& other) { min = std::min(min, other.min), max = std::max(max, other.max); }
  bool empty() const { return min > max; }
};

/// What looking at the pictures of a folder one by one found. Parts that several threads made are merged; the result
/// does not depend on how the pictures were divided.
/// One thread at a time: each has its own, and they are merged under a lock. Memory is bounded: formats and the first few errors.
struct PictureFindings {
  static constexpr size_t kUnreadableKept = 10;
  struct Unreadable {
    int64_t id;
    Status status;
  };

  int64_t count = 0;
  uint64_t bytes = 0;
  Extent object_bytes, width, height;
  std::map<std::string, int64_t> formats;  ///< by name; of those that could be read
  int64_t progressive = 0, rotated = 0;
  int64_t unreadable_count = 0;
  std::vector<Unreadable> unreadable;  ///< the first few by id

  void add_object(uint64_t size);
  void add_picture(const ImageInfo& info);
  void add_unreadable(int64_t id, Status status);
  void merge(PictureFindings other);
};

/// Everything that `forebay inspect` says about a folder of pictures.
/// The two forms say the same; what goes to JSON has no name that depends on the language of people.
struct InspectReport {
  std::string url;
  bool decoded = false;                    ///< all pixels were decoded, not only the headers read
  std::map<std::string, int64_t> classes;  ///< pictures of each
  bool labelled = true;
  std::string why_not_labelled;
  ImageFolderReport left_out;
  PictureFindings found;

  SortedJson to_json() const;
  std::string to_text() const;
};

}  // namespace forebay
