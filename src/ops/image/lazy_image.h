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

/// A picture whose pixels are not computed yet: a source, and the changes to make, in this order:
///
///     source → crop → mirror → resize → window (zeros outside) → mirror
///            → scale and bias → layout → dtype
///
/// Image operators only change this description. write() then applies all of it in one pass over
/// the rows that are needed, from the decoder straight into the output. A change that does not fit
/// the order (a resize of a resize, new pixel values) computes the pixels at once and starts a new
/// description from them; the bytes are the same either way. A LazyImage belongs to one sample and
/// is used by one thread at a time. Memory is reserved before it is allocated. OutOfBudget says how
/// much write() would need, and leaves the description unchanged.
class LazyImage final : public Deferred {
 public:
  /// `info` is the result of probe_image() on `bytes`. `step` is the pipeline step that decodes,
  /// for StepMeter.
  static std::unique_ptr<LazyImage> of_encoded(Buffer bytes, const ImageInfo& info, ColorMode mode, int step = 0);
  /// A picture of which only the size is known. Operators that change sizes change it as they would
  /// change its pixels; what needs the pixels themselves is Internal.
  static std::unique_ptr<LazyImage> of_unread(const UnreadPixels& unread);
  /// Returns Unsupported unless the shape is (h, w), (h, w, c) or, channels first, (c, h, w), with
  /// at least one pixel and 1 to 4 channels.
  static Result<std::unique_ptr<LazyImage>> of_pixels(Tensor pixels, bool channels_first);

  /// Sets the pipeline step that requests the changes which follow. Their time is booked to that
  /// step when they run.
  void set_step(int step) { step_ = step; }

  /// The current size, after all changes so far.
  int64_t width() const { return window_.width; }
  int64_t height() const { return window_.height; }
  int64_t channels() const { return source_.channels(); }

  /// Crops to `part`. Pixels outside the picture are 0. `part` may lie wholly in the margin that an
  /// earlier crop added.
  Status crop(const Rect& part, WorkMemory& memory);
  /// Mirrors left to right.
  void flip();
  /// Supports 8-bit and uint16 pixels that are not palette indices; kNearest supports all pixels.
  /// Otherwise InvalidArgument.
  Status resize(int64_t height, int64_t width, Interpolation interpolation, WorkMemory& memory);
  /// Converts to float32: x × scale + bias, with one scale and bias per channel. InvalidArgument
  /// unless the pixels are 8-bit or uint16.
  Status normalize(std::span<const float> scale, std::span<const float> bias, WorkMemory& memory);
  void set_layout(bool channels_first);
  /// Saturates where an integer type cannot hold a value.
  Status cast(DType dtype, WorkMemory& memory);
  /// Computes and returns the pixels with all changes so far.
  Result<const Tensor*> pixels(WorkMemory& memory);
  /// Computes and returns the pixels for changes in place: 8 bits, height × width × channels.
  Result<Tensor*> edit(WorkMemory& memory);

  DType dtype() const override { return dtype_; }
  Shape shape() const override;
  /// Bytes that write() reserves, including the decoder's memory.
  uint64_t working_bytes() const;
  Status write(std::span<uint8_t> out, WorkMemory& memory) override;
  std::unique_ptr<Deferred> clone() const override { return std::unique_ptr<Deferred>(new LazyImage(*this)); }

 private:
  struct Resize {
    int64_t height = 0, width = 0;
    Interpolation interpolation = Interpolation::kBilinear;
  };
  /// The work of write(), derived from the description.
  struct Work {
    ResampleSpec resample;
    Rect part;            // part of the source that is read
    bool copies = false;  // the rows of the source are the rows of the result
    bool blank = false;   // the window lies outside the picture and holds only zeros
  };

  explicit LazyImage(PixelSource source);
  /// Starts a new description, of the pixels of `source` as they are.
  void reset_to(PixelSource source);
  void clear_changes();
  Rect resized() const;
  bool extends_outside(const Rect& part) const;
  Status require_eight_bits(std::string_view what, WorkMemory& memory);
  PixelFormat format() const;
  Work work() const;
  uint64_t bytes_of(const Work& work) const;
  uint64_t blank_row_bytes() const;
  Status write_pixels(const Work& work, std::span<uint8_t> out, WorkMemory& memory) const;
  void write_blank(std::span<uint8_t> out, WorkMemory& memory) const;
  void write_elements(const Work& work, std::span<uint8_t> out, WorkMemory& memory) const;
  Status compute_pixels(WorkMemory& memory);
  /// Keeps the current size alone, of a picture without pixels.
  Status forget_changes();

  PixelSource source_;
  Rect crop_;  // part of the upright source, inside it
  bool flip_before_resize_ = false;
  std::optional<Resize> resize_;
  Rect window_;                     // part of the resized picture; may extend past its edge
  bool flip_after_resize_ = false;  // mirrors the window; also set if there is no resize
  bool normalized_ = false;         // `pointwise_` is applied
  Pointwise pointwise_;
  bool channel_axis_ = true;  // false: the tensor had two axes, and so has the result
  bool channels_first_ = false;
  DType dtype_ = DType::kUint8;
  // Pipeline steps for StepMeter: the current one, and those that requested the pixels, their place
  // (the resize, or else the last crop or flip) and their values (normalize, or else the last cast
  // or change of layout).
  int step_ = 0, decode_step_ = 0, geometry_step_ = 0, value_step_ = 0;
};

}  // namespace forebay
