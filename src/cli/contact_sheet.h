#pragma once

#include <string>
#include <vector>

#include "cli/picture.h"
#include "forebay/batch.h"
#include "forebay/pipeline.h"
#include "forebay/result.h"

namespace forebay {

struct ContactSheetOptions {
  int64_t max_pictures = 64;
  int columns = 8;
  NormalizeOptions normalize = imagenet();  ///< what the pipeline did, to be undone
  std::vector<std::string> classes;         ///< names under the pictures, by label
  std::string title;
};

/// What the trainer sees: the pictures of a batch on one sheet, pixel by pixel up to a side of 256, reduced by a whole
/// factor beyond. Takes a field `image` that is float32 (n, 3, h, w), and `label`, int64 (n,), where it is there.
/// Unsupported where there is no such field, InvalidArgument unless `normalize` has three channels. Padding is left out. The sheet
/// takes 3 bytes a pixel beside the batch, which is only read.
Result<Picture> contact_sheet(const Batch& batch, const ContactSheetOptions& options);

}  // namespace forebay
