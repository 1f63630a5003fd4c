#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/read_request.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// A tar archive in memory: ustar, with a pax header where a name has more than 100 bytes. Nothing in it says when, where or by whom it was
/// made, so equal members give equal bytes.
class TarWriter {
 public:
  /// A regular file; where its bytes lie in the archive. InvalidArgument for names that would leave the folder, and for more than 8 GiB.
  Result<ByteRange> add(std::string_view name, std::span<const uint8_t> bytes);
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  /// With its end.
  Buffer take();

 private:
  void add_header(std::string_view name, uint64_t size, char type);
  void add_padded(std::span<const uint8_t> bytes);

  std::vector<uint8_t> bytes_;
};

}  // namespace forebay
