#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/record.h"

namespace forebay {

/// The pictures of one sample, each computed when it is written: (n, height, width, channels), or
/// the order of axes that the pictures have. Operators change each of them.
class PictureList final : public Deferred {
 public:
  /// At least one picture. `stands_in`: the list is empty, and the one picture only tells what its
  /// pictures would be like after the same changes.
  PictureList(std::vector<std::unique_ptr<Deferred>> pictures, bool stands_in)
      : pictures_(std::move(pictures)), stands_in_(stands_in) {}

  std::span<std::unique_ptr<Deferred>> pictures() { return pictures_; }
  bool stands_in() const { return stands_in_; }

  DType dtype() const override { return pictures_.front()->dtype(); }
  /// The shape as it is if all pictures have the size of the first.
  Shape shape() const override;
  /// Unsupported if the pictures differ in size.
  Status write(std::span<uint8_t> out, WorkMemory& memory) override;
  std::unique_ptr<Deferred> clone() const override;

 private:
  std::vector<std::unique_ptr<Deferred>> pictures_;
  bool stands_in_;
};

/// Tensors one after the other along their first axis. They agree in type and in all other axes.
class JoinedTensors final : public Deferred {
 public:
  /// At least one.
  explicit JoinedTensors(std::vector<std::unique_ptr<Deferred>> parts) : parts_(std::move(parts)) {}

  DType dtype() const override { return parts_.front()->dtype(); }
  Shape shape() const override;
  Status write(std::span<uint8_t> out, WorkMemory& memory) override;
  std::unique_ptr<Deferred> clone() const override;

 private:
  std::vector<std::unique_ptr<Deferred>> parts_;
};

}  // namespace forebay
