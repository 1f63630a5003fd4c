#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/record.h"
#include "forebay/result.h"

namespace forebay {

/// The patches that a picture has in each direction.
struct PatchGrid {
  int64_t rows = 0, columns = 0;
  int64_t count() const { return rows * columns; }
  friend bool operator==(const PatchGrid&, const PatchGrid&) = default;
};

/// The division of pictures into square patches.
struct PatchLayout {
  int64_t patch = 14;  ///< side of a patch in pixels
  int64_t merge = 1;   ///< merge × merge neighbouring patches are consecutive rows
  int64_t min_pixels = 1, max_pixels = INT64_MAX;

  /// Returns the grid of a picture of this size, after a resize to multiples of patch × merge that
  /// keeps its proportions and the limits as nearly as possible. It computes, in the same order of
  /// operations, what smart_resize() computes in image_processing_qwen2_vl.py of Hugging Face
  /// transformers. Unsupported if one side is more than 200 times as long as the other.
  Result<PatchGrid> grid_of(int64_t height, int64_t width) const;
};

/// A picture cut into patches: (patches, channels × patch × patch). The order of patches is that of
/// Qwen2-VL: groups of merge × merge from top left, row by row, and each group row by row. The
/// values of a patch are those of the first channel, row by row, then of the next channel.
class CutPicture final : public Deferred {
 public:
  /// `picture` is channels × height × width, and its size is that of the grid. `step` is the pipeline
  /// step that cuts, for StepMeter.
  CutPicture(std::unique_ptr<Deferred> picture, const PatchLayout& layout, PatchGrid grid, int step)
      : picture_(std::move(picture)), layout_(layout), grid_(grid), step_(step) {}

  DType dtype() const override { return picture_->dtype(); }
  Shape shape() const override;
  Status write(std::span<uint8_t> out, WorkMemory& memory) override;
  std::unique_ptr<Deferred> clone() const override {
    return std::make_unique<CutPicture>(picture_->clone(), layout_, grid_, step_);
  }

 private:
  int64_t channels() const { return picture_->shape()[0]; }
  void cut(const uint8_t* pixels, uint8_t* out) const;
  uint8_t* cut_patch(const uint8_t* pixels, int64_t row, int64_t column, uint8_t* out) const;

  std::unique_ptr<Deferred> picture_;
  PatchLayout layout_;
  PatchGrid grid_;
  int step_;
};

}  // namespace forebay
