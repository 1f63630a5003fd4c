#include "cache/compression.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr int kZstdLevel = 1;
constexpr uint64_t kLargestBlock = LZ4_MAX_INPUT_SIZE;  // both libraries take as much at once

// Values of a column differ mostly in their low bytes, so they compress better if bytes of the same
// weight are adjacent.
Buffer shuffled(const uint8_t* data, uint64_t size, size_t element) {
  Buffer out = Buffer::allocate(size);
  const uint64_t count = size / element;
  for (size_t byte = 0; byte < element; ++byte) {
    uint8_t* const plane = out.data() + byte * count;
    for (uint64_t i = 0; i < count; ++i) plane[i] = data[i * element + byte];
  }
  // An incomplete element at the end, which only a damaged description gives, is copied unchanged.
  std::copy(data + count * element, data + size, out.data() + count * element);
  return out;
}

Buffer unshuffled(const Buffer& planes, size_t element) {
  Buffer out = Buffer::allocate(planes.size());
  const uint64_t count = planes.size() / element;
  for (size_t byte = 0; byte < element; ++byte) {
    const uint8_t* const plane = planes.data() + byte * count;
    for (uint64_t i = 0; i < count; ++i) out.data()[i * element + byte] = plane[i];
  }
  std::copy(planes.data() + count * element, planes.data() + planes.size(), out.data() + count * element);
  return out;
}

uint64_t compress(Compression compression, const Buffer& in, Buffer& out) {
  if (compression == Compression::kZstd) {
    const size_t size = ZSTD_compress(out.data(), out.size(), in.data(), in.size(), kZstdLevel);
    return ZSTD_isError(size) ? 0 : size;
  }
  const int size = LZ4_compress_default(reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(out.data()),
                                        static_cast<int>(in.size()), static_cast<int>(out.size()));
  return static_cast<uint64_t>(std::max(size, 0));
}

bool decompress(Compression compression, std::span<const uint8_t> in, Buffer& out) {
  if (compression == Compression::kZstd)
    return ZSTD_decompress(out.data(), out.size(), in.data(), in.size()) == out.size();
  if (in.size() > static_cast<size_t>(std::numeric_limits<int>::max())) return false;
  return LZ4_decompress_safe(reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(out.data()),
                             static_cast<int>(in.size()), static_cast<int>(out.size())) == static_cast<int>(out.size());
}

}  // namespace

std::optional<Compression> compression_from_name(std::string_view name) {
  if (name.empty()) return Compression::kNone;
  if (name == "zstd") return Compression::kZstd;
  if (name == "lz4") return Compression::kLz4;
  return std::nullopt;
}

Buffer pack(Compression compression, const uint8_t* data, uint64_t size, size_t element_bytes) {
  if (compression == Compression::kNone || size == 0 || size > kLargestBlock) return {};
  const Buffer planes = shuffled(data, size, element_bytes);
  // The buffer has only the size that is worthwhile: the libraries give up if it does not suffice.
  Buffer out = Buffer::allocate(size - size / 20);
  const uint64_t packed = compress(compression, planes, out);
  return packed == 0 ? Buffer() : out.slice(0, packed);
}

Result<Buffer> unpack(Compression compression, std::span<const uint8_t> packed, uint64_t unpacked_bytes,
                      size_t element_bytes) {
  if (compression == Compression::kNone || unpacked_bytes > kLargestBlock)
    return corrupt("a column is packed in no known way");
  // The caller has checked `unpacked_bytes` against the bytes read (kMaxExpansion).
  Buffer planes = Buffer::allocate(unpacked_bytes);
  if (!decompress(compression, packed, planes)) return corrupt("a packed column does not unpack to what it held");
  return element_bytes > 1 ? unshuffled(planes, element_bytes) : planes;
}

}  // namespace forebay
