#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/picture.h"
#include "forebay/batch.h"
#include "forebay/pipeline.h"
#include "forebay/result.h"

namespace forebay {

struct ContactSheetOptions {
  int64_t max_pictures = 64;                ///< further pictures are left out
  int columns = 8;                          ///< pictures per row, at least 1
  NormalizeOptions normalize = imagenet();  ///< the pipeline's normalization, which is undone
  std::vector<std::string> classes;         ///< names under the pictures, by label
  std::string title;
};

/// Draws the pictures of a batch on one sheet, as the trainer sees them. Padding is left out.
/// Pictures are shrunk by an integer factor, so that no side exceeds 256 pixels. The batch needs a
/// field `image`, float32 (n, 3, h, w). If it has a field `label`, int64 (n,), each picture has its
/// class below it.
///
/// Errors: Unsupported without such a field; InvalidArgument unless `normalize` has three channels.
Result<Picture> contact_sheet(const Batch& batch, const ContactSheetOptions& options);

}  // namespace forebay
