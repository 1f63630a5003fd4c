#include "ops/image/picture_list.h"

#include <fmt/format.h>

namespace forebay {

namespace {

std::vector<std::unique_ptr<Deferred>> clones(const std::vector<std::unique_ptr<Deferred>>& of) {
  std::vector<std::unique_ptr<Deferred>> made;
  made.reserve(of.size());
  for (const auto& each : of) made.push_back(each->clone());
  return made;
}

size_t bytes_of(const Deferred& tensor) {
  return static_cast<size_t>(tensor.shape().elements()) * dtype_size(tensor.dtype());
}

Status write_each(const std::vector<std::unique_ptr<Deferred>>& tensors, std::span<uint8_t> out, WorkMemory& memory) {
  for (const auto& each : tensors) {
    const size_t bytes = bytes_of(*each);
    FOREBAY_RETURN_IF_ERROR(each->write(out.first(bytes), memory));
    out = out.subspan(bytes);
  }
  return {};
}

}  // namespace

Shape PictureList::shape() const {
  Shape shape{stands_in_ ? 0 : static_cast<int64_t>(pictures_.size())};
  for (const int64_t dim : pictures_.front()->shape()) shape.push_back(dim);
  return shape;
}

Status PictureList::write(std::span<uint8_t> out, WorkMemory& memory) {
  if (stands_in_) return {};
  const Shape first = pictures_.front()->shape();
  for (const auto& picture : pictures_) {
    if (picture->shape() == first) continue;
    return unsupported(
        fmt::format("the pictures of this list differ, {} and {}; put .resize(size) or a crop before, or cut each into "
                    "patches with .patchify()",
                    first.to_string(), picture->shape().to_string()));
  }
  return write_each(pictures_, out, memory);
}

std::unique_ptr<Deferred> PictureList::clone() const {
  return std::make_unique<PictureList>(clones(pictures_), stands_in_);
}

Shape JoinedTensors::shape() const {
  Shape shape = parts_.front()->shape();
  shape[0] = 0;
  for (const auto& part : parts_) shape[0] += part->shape()[0];
  return shape;
}

Status JoinedTensors::write(std::span<uint8_t> out, WorkMemory& memory) { return write_each(parts_, out, memory); }

std::unique_ptr<Deferred> JoinedTensors::clone() const { return std::make_unique<JoinedTensors>(clones(parts_)); }

}  // namespace forebay
