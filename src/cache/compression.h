#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// How the columns of a stored entry are packed. The numbers are part of what lies on disks.
enum class Compression : uint8_t { kNone = 0, kZstd = 1, kLz4 = 2 };

/// "zstd", "lz4"; "" is none.
std::optional<Compression> compression_from_name(std::string_view name);

/// A packed block holds at least 1/kMaxExpansion of the bytes that it unpacks to (the writer fills it up where it would be
/// smaller), so that memory never outgrows what was really read by more than this.
inline constexpr uint64_t kMaxExpansion = 255;

/// Bytes of elements of `element_bytes` each, shuffled (first bytes of all elements, then second bytes, …) and compressed.
/// Empty where that gains less than a twentieth.
Buffer pack(Compression compression, const uint8_t* data, uint64_t size, size_t element_bytes);
/// The other way. Corrupt where the bytes are not `unpacked_bytes` packed so; takes no memory before sizes are plausible.
Result<Buffer> unpack(Compression compression, std::span<const uint8_t> packed, uint64_t unpacked_bytes,
                      size_t element_bytes);

}  // namespace forebay
