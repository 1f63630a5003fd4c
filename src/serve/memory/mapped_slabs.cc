#include "serve/memory/mapped_slabs.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <utility>

#include <fmt/format.h>

namespace forebay {

struct MappedSlabs::Mapping {
  uint8_t* data = nullptr;
  size_t bytes = 0;

  Mapping(uint8_t* begin, size_t length) : data(begin), bytes(length) {}
  ~Mapping() { munmap(data, bytes); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
};

namespace {

Status no_tensor() { return corrupt("the server tells of a tensor that lies in none of its slabs"); }

/// Returns the bytes of a tensor, or nothing if no array can have that shape.
std::optional<uint64_t> bytes_of(const TensorLocation& location) {
  uint64_t bytes = dtype_size(location.dtype);
  for (const int64_t dim : location.shape) {
    if (dim < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace

Status MappedSlabs::add(const SlabMessage& message, const FileDescriptor& file) {
  struct stat info{};
  if (fstat(file.get(), &info) != 0 || message.bytes == 0 || static_cast<uint64_t>(info.st_size) != message.bytes)
    return corrupt("the server tells of a slab that is not as long as it says");
  // The server has sealed the file, so it cannot shrink under the mapping.
  void* const data = mmap(nullptr, message.bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED)
    return out_of_budget(fmt::format("{} bytes of the server's cannot be mapped here; raise the limit of address "
                                     "space (ulimit -v)",
                                     message.bytes),
                         message.bytes);
  auto mapping = std::make_shared<const Mapping>(static_cast<uint8_t*>(data), message.bytes);
  const Lock lock(mutex_);
  slabs_[message.number] = std::move(mapping);
  return {};
}

void MappedSlabs::drop(uint64_t number) {
  std::shared_ptr<const Mapping> gone;
  const Lock lock(mutex_);
  if (const auto found = slabs_.find(number); found != slabs_.end()) {
    gone = std::move(found->second);
    slabs_.erase(found);
  }
}

Result<Tensor> MappedSlabs::tensor(const TensorLocation& location, const std::shared_ptr<void>& held) const {
  const std::optional<uint64_t> bytes = bytes_of(location);
  if (!bytes || location.shape.size() > Shape::kMaxRank) return no_tensor();
  Tensor tensor{location.dtype, Shape(std::span<const int64_t>(location.shape)), Buffer()};
  if (location.slab == 0)  // the field has no such tensor, or the tensor is empty
    return location.shape.empty() || *bytes == 0 ? Result<Tensor>(tensor) : no_tensor();
  std::shared_ptr<const Mapping> mapping;
  {
    const Lock lock(mutex_);
    const auto found = slabs_.find(location.slab);
    if (found == slabs_.end()) return no_tensor();
    mapping = found->second;
  }
  // This order of comparisons cannot overflow.
  if (location.offset > mapping->bytes || *bytes > mapping->bytes - location.offset) return no_tensor();
  uint8_t* const data = mapping->data + location.offset;
  auto both =
      std::make_shared<std::pair<std::shared_ptr<const Mapping>, std::shared_ptr<void>>>(std::move(mapping), held);
  tensor.buffer = Buffer(data, *bytes, std::move(both));
  return tensor;
}

}  // namespace forebay
