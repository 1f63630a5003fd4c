#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/read_request.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// Builds a tar archive in memory: ustar, with a pax header for a name of more than 100 bytes. The
/// archive records no time, place or user, so equal members give equal bytes.
class TarWriter {
 public:
  /// Adds a regular file and returns the range of its bytes in the archive. InvalidArgument for
  /// names that would leave the folder, and for more than 8 GiB.
  Result<ByteRange> add(std::string_view name, std::span<const uint8_t> bytes);
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  /// Ends the archive and returns it.
  Buffer take();

 private:
  void add_header(std::string_view name, uint64_t size, char type);
  void add_padded(std::span<const uint8_t> bytes);

  std::vector<uint8_t> bytes_;
};

}  // namespace forebay
