#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "forebay/result.h"
#include "forebay/status.h"
#include "format/webdataset/tar_header.h"

namespace forebay {

/// An entry of a tar, with its extension headers applied.
struct TarMember {
  enum class Kind : uint8_t {
    kFile,
    kHardLink,
    kSymbolicLink,
    kFolder,
    kOther,  ///< devices, pipes, and types of other programs
  };
  std::string name;
  std::string link = {};  ///< target of a link
  Kind kind = Kind::kOther;
  uint64_t begin = 0;  ///< offset of its first header
  uint64_t data = 0, size = 0;
  bool is_link() const { return kind == Kind::kHardLink || kind == Kind::kSymbolicLink; }
};

/// Some bytes of a tar, beginning at `offset`.
struct TarWindow {
  uint64_t offset = 0;
  std::span<const uint8_t> bytes;
};

/// Iterates over the entries of a tar. The caller reads the tar and passes windows of it.
/// Understands ustar, GNU's long names and large sizes, and pax headers (path, linkpath, size).
/// Concatenated tars in one file are read as one. One thread.
///
/// Every size is checked against the size of the tar before it is used. Corrupt for damaged tars,
/// Unsupported for sparse files and multi-volume tars; the error names the byte range.
class TarWalker {
 public:
  /// Begins at offset `at`, where a header must be.
  TarWalker(uint64_t at, uint64_t tar_bytes) : at_(at), tar_bytes_(tar_bytes) {}

  enum class Step : uint8_t {
    kMember,
    kEnd,        ///< the zero blocks that end a tar, with no other tar after them
    kNeedsMore,  ///< call again with a window that contains needed()
  };
  Result<Step> next(TarWindow window, TarMember& member);
  ByteRange needed() const { return needed_; }
  /// Offset after the last member returned.
  uint64_t at() const { return at_; }
  /// After kEnd: number of bytes after the end of the tar that are neither zeros nor a tar.
  uint64_t trailing_bytes() const { return trailing_bytes_; }

 private:
  std::optional<std::span<const uint8_t>> find_bytes(TarWindow window, ByteRange range);
  Status error(Code code, const std::string& message, uint64_t at) const;
  Status missing_end_error() const;
  /// True if `block`, which follows the end of a tar, is not the beginning of another tar.
  bool begins_other_data(std::span<const uint8_t> block) const;
  /// Parses an extension header before a member; false if it needs another window.
  Result<bool> apply_extension(TarWindow window, const TarHeaderBlock& header);
  Status parse_pax(std::span<const uint8_t> records, bool global);
  Status parse_pax_record(std::string_view key, std::string_view value, bool global);
  Status fill_member(const TarHeaderBlock& header, TarMember& member);

  uint64_t at_;
  const uint64_t tar_bytes_;
  ByteRange needed_;
  bool ended_ = false;  // the last block was zero
  uint64_t trailing_bytes_ = 0;
  // Values from extension headers before the next member.
  std::optional<uint64_t> begin_, size_;
  std::optional<std::string> name_, link_;
};

}  // namespace forebay
