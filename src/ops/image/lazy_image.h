#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/record.h"
#include "ops/image/axis.h"
#include "ops/image/pixel_source.h"
#include "ops/image/resampler.h"
#include "ops/image/row_writer.h"

namespace forebay {

/// A picture whose pixels are not made yet: where they come from, and what is to be done to them, in this order:
///
///     source → crop → mirror → resize → window (zeros outside) → mirror → scale and bias → layout → dtype
///
/// Image operators only change this description. write() then does all of it in one pass over the rows that are needed,
/// from the decoder straight into the place of the result. What does not fit the order (a resize of a resize, new pixel
/// values) is computed where it comes up and starts a new description; the bytes are the same either way.
/// Belongs to one sample and one thread at a time. Memory is reserved before it is taken: OutOfBudget says how much write() would need, and
/// leaves the description as it was.
class LazyImage final : public Deferred {
 public:
  /// `info` is what probe_image() said of `bytes`; `step` is the one that decodes, for StepMeter.
  static std::unique_ptr<LazyImage> of_encoded(Buffer bytes, const ImageInfo& info, ColorMode mode, int step = 0);
  /// Unsupported unless it is (h, w), (h, w, c) or, channels first, (c, h, w), with at least one pixel and 1 to 4
  /// channels.
  static Result<std::unique_ptr<LazyImage>> of_pixels(Tensor pixels, bool channels_first);

  /// What is asked for from here on is asked by that step: the time it takes when it is done will be booked to it.
  void set_step(int step) { step_ = step; }

  /// The picture as it stands.
  int64_t width() const { return window_.width; }
  int64_t height() const { return window_.height; }
  int64_t channels() const { return source_.channels(); }

  /// The part of the picture; where it reaches over the edge the pixels are 0. It may lie wholly in what an earlier crop added.
  Status crop(const Rect& part, WorkMemory& memory);
  /// Left becomes right.
  void flip();
  /// InvalidArgument for anything but 8-bit pixels and uint16, and for indices of a palette, unless by kNearest.
  Status resize(int64_t height, int64_t width, Interpolation interpolation, WorkMemory& memory);
  /// Makes it float32: x × scale + bias, one of each per channel. InvalidArgument for anything but 8-bit pixels and uint16.
  Status normalize(std::span<const float> scale, std::span<const float> bias, WorkMemory& memory);
  void set_layout(bool channels_first);
  /// Saturates where an integer type cannot hold a value.
  Status cast(DType dtype, WorkMemory& memory);
  /// Computes the pixels as they stand and gives them.
  Result<const Tensor*> pixels(WorkMemory& memory);
  /// Computes the pixels as they stand and gives them, 8 bits, height × width × channels, to be changed in place.
  Result<Tensor*> edit(WorkMemory& memory);

  DType dtype() const override { return dtype_; }
  Shape shape() const override;
  /// What write() reserves: the decoder's memory and its own.
  uint64_t working_bytes() const;
  Status write(std::span<uint8_t> out, WorkMemory& memory) override;
  std::unique_ptr<Deferred> clone() const override { return std::unique_ptr<Deferred>(new LazyImage(*this)); }

 private:
  struct Resize {
    int64_t height = 0, width = 0;
    Interpolation interpolation = Interpolation::kBilinear;
  };
  /// What write() has to do, worked out from the description.
  struct Work {
    ResampleSpec resample;
    Rect part;            // of the source
    bool copies = false;  // the rows of the source are the rows of the result
    bool blank = false;   // the window lies beside the picture: nothing of the source is in it
  };

  explicit LazyImage(PixelSource source);
  void begin(PixelSource source);
  Rect resized() const;
  bool reaches_over(const Rect& part) const;
  Status need_eight_bits(std::string_view what, WorkMemory& memory);
  PixelFormat format() const;
  Work work() const;
  uint64_t bytes_of(const Work& work) const;
  uint64_t blank_row_bytes() const;
  Status write_pixels(const Work& work, std::span<uint8_t> out, WorkMemory& memory) const;
  void write_blank(std::span<uint8_t> out, WorkMemory& memory) const;
  void write_elements(const Work& work, std::span<uint8_t> out, WorkMemory& memory) const;
  Status settle(WorkMemory& memory);

  PixelSource source_;
  Rect crop_;                 // of the upright source, inside it
  bool flip_before_ = false;  // the crop, before the resize
  std::optional<Resize> resize_;
  Rect window_;  // of the resized picture, may reach over its edge
  bool flip_after_ = false;
  bool scaled_ = false;
  Pointwise pointwise_;
  bool channel_axis_ = true;  // false: two axes, as the tensor it came from
  bool channels_first_ = false;
  DType dtype_ = DType::kUint8;
  // Steps: who asks now, and who asked for pixels, for where they go (the resize, or else the last crop or flip), and for what they
  // become (normalize, or else the last cast or change of layout).
  int step_ = 0, decoded_by_ = 0, placed_by_ = 0, finished_by_ = 0;
};

}  // namespace forebay
