#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// How the columns of a stored entry are packed. The numbers are stored on disk.
enum class Compression : uint8_t { kNone = 0, kZstd = 1, kLz4 = 2 };

/// Parses "zstd" or "lz4"; "" is kNone.
std::optional<Compression> compression_from_name(std::string_view name);

/// A packed block has at least 1/kMaxExpansion of the bytes that it unpacks to; the writer pads
/// smaller ones. So unpacking never needs more memory than this factor times the bytes read.
inline constexpr uint64_t kMaxExpansion = 255;

/// Packs elements of `element_bytes` each: shuffles them (first bytes of all elements, then second
/// bytes, …) and compresses them. Empty if that gains less than a twentieth.
Buffer pack(Compression compression, const uint8_t* data, uint64_t size, size_t element_bytes);
/// Unpacks. Corrupt if the bytes are not `unpacked_bytes` packed this way. Allocates no memory
/// before the sizes are plausible.
Result<Buffer> unpack(Compression compression, std::span<const uint8_t> packed, uint64_t unpacked_bytes,
                      size_t element_bytes);

}  // namespace forebay
