#include "cli/contact_sheet.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace forebay {
namespace {

constexpr Rgb kPaper = {24, 24, 28}, kInk = {230, 230, 230};
constexpr int kGap = 6, kScale = 2, kLineHeight = (Picture::kGlyphHeight + 4) * kScale;
constexpr int64_t kMaxSide = 256;
constexpr size_t kChannels = 3;

/// Position of a picture on the sheet.
struct Cell {
  int x, y;
};

class Sheet {
 public:
  Sheet(const Batch& batch, const Tensor& images, const ContactSheetOptions& options)
      : batch_(batch), images_(images), options_(options), rows_(images.shape[2]), columns_(images.shape[3]),
        // Rounded up, so that no side is longer than kMaxSide.
        factor_((std::max(rows_, columns_) + kMaxSide - 1) / kMaxSide), height_(static_cast<int>(rows_ / factor_)),
        width_(static_cast<int>(columns_ / factor_)),
        count_(static_cast<int>(std::min({images.shape[0], batch.size() - batch.padding, options.max_pictures}))) {}

  Picture draw() const {
    // At most as many columns as pictures, and at least one, because the next line divides by it.
    const int across = std::clamp(count_, 1, options_.columns);
    const int down = (count_ + across - 1) / across;
    Picture sheet(kGap + across * (width_ + kGap), kLineHeight + 2 * kGap + down * cell_height(), kPaper);
    sheet.text(kGap, kGap, fit_text(options_.title, sheet.width() - 2 * kGap, kScale), kScale, kInk);
    for (int i = 0; i < count_; ++i) {
      const Cell cell{kGap + i % across * (width_ + kGap), kLineHeight + kGap + i / across * cell_height()};
      draw_image(sheet, cell, i);
      draw_name(sheet, cell, i);
    }
    return sheet;
  }

 private:
  int cell_height() const { return height_ + kLineHeight; }

  void draw_image(Picture& sheet, Cell cell, int i) const {
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) {
        Rgb color{};
        for (size_t c = 0; c < kChannels; ++c) color[c] = level(i, c, x, y);
        sheet.set(cell.x + x, cell.y + y, color);
      }
    }
  }

  /// Returns the mean of factor x factor values, with normalize() undone.
  uint8_t level(int i, size_t channel, int x, int y) const {
    const auto plane = static_cast<int64_t>(kChannels) * i + static_cast<int64_t>(channel);
    double sum = 0;
    // The factor is whole, so every dot is the mean of the same number of pixels.
    for (int64_t row = y * factor_; row < (y + 1) * factor_; ++row) {
      const float* values = images_.data<float>() + (plane * rows_ + row) * columns_ + x * factor_;
      for (int64_t k = 0; k < factor_; ++k) sum += values[k];
    }
    const double mean = sum / static_cast<double>(factor_ * factor_);
    const double level = (mean * options_.normalize.std[channel] + options_.normalize.mean[channel]) * 255;
    // NaN becomes 0.
    return static_cast<uint8_t>(std::lround(level > 0 ? std::min(level, 255.0) : 0));
  }

  void draw_name(Picture& sheet, Cell cell, int i) const {
    const BatchField* labels = batch_.find("label");
    if (labels == nullptr || labels->values.dtype != DType::kInt64 || labels->values.shape.rank() != 1) return;
    const int64_t label = labels->values.data<int64_t>()[i];
    const bool named = label >= 0 && label < static_cast<int64_t>(options_.classes.size());
    const std::string name = named ? options_.classes[static_cast<size_t>(label)] : fmt::format("class {}", label);
    sheet.text(cell.x, cell.y + height_ + kScale, fit_text(name, width_, kScale), kScale, kInk);
  }

  const Batch& batch_;
  const Tensor& images_;
  const ContactSheetOptions& options_;
  const int64_t rows_, columns_, factor_;
  const int height_, width_, count_;
};

}  // namespace

Result<Picture> contact_sheet(const Batch& batch, const ContactSheetOptions& options) {
  const BatchField* field = batch.find("image");
  if (field == nullptr || field->kind != BatchField::Kind::kDense || field->values.dtype != DType::kFloat32 ||
      field->values.shape.rank() != 4 || field->values.shape[1] != static_cast<int64_t>(kChannels)) {
    return unsupported("a contact sheet needs a field 'image' of float32 pictures, (n, 3, height, width)");
  }
  if (options.normalize.mean.size() != kChannels || options.normalize.std.size() != kChannels) {
    return invalid_argument("a contact sheet needs the mean and the standard deviation of three channels");
  }
  return Sheet(batch, field->values, options).draw();
}

}  // namespace forebay
