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
  NormalizeOptions normalize = imagenet();  ///< the pipeline's normalization, which is undone
  std::vector<std::string> classes;         ///< names under the pictures, by label
  std::string title;
};

/// Draws the pictures of a batch on one sheet, as the trainer sees them. Padding is left out.
/// Pictures with a side above 256 pixels are reduced by a whole factor. The batch needs a field
/// `image`, float32 (n, 3, h, w), and may have a field `label`, int64 (n,). The sheet takes 3 bytes
/// per pixel.
///
/// Errors: Unsupported without such a field; InvalidArgument unless `normalize` has three channels.
Result<Picture> contact_sheet(const Batch& batch, const ContactSheetOptions& options);

}  // namespace forebay
