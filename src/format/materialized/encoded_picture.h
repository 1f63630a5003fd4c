#pragma once

#include "base/record.h"
#include "codec/image.h"

namespace forebay {

/// Pixels that are stored as an encoded picture, and decoded directly into their destination.
class EncodedPicture final : public Deferred {
 public:
  /// `shape` is the shape before encoding: height × width × (1 or 3) channels. Corrupt if the
  /// picture has another shape.
  static Result<std::unique_ptr<Deferred>> of(Buffer file, const Shape& shape);

  DType dtype() const override { return DType::kUint8; }
  Shape shape() const override { return shape_; }
  const Buffer& file() const { return file_; }
  Status write(std::span<uint8_t> out, WorkMemory& memory) override;
  std::unique_ptr<Deferred> clone() const override { return std::unique_ptr<Deferred>(new EncodedPicture(*this)); }

 private:
  EncodedPicture(Buffer file, const ImageInfo& info, const Shape& shape)
      : file_(std::move(file)), info_(info), shape_(shape) {}

  const Buffer file_;
  const ImageInfo info_;
  const Shape shape_;
};

}  // namespace forebay
