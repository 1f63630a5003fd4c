#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "forebay/result.h"
#include "forebay/status.h"
#include "format/webdataset/tar_header.h"

namespace forebay {

/// An entry of a tar, headers before it taken into account.
struct TarMember {
  enum class Kind : uint8_t {
    kFile,
    kHardLink,
    kSymbolicLink,
    kFolder,
    kOther,  ///< devices, pipes, and what only some program knows
  };
  std::string name;
  std::string link = {};  ///< the name that a link leads to
  Kind kind = Kind::kOther;
  uint64_t begin = 0;  ///< of the first of its headers
  uint64_t data = 0, size = 0;
  bool is_link() const { return kind == Kind::kHardLink || kind == Kind::kSymbolicLink; }
};

/// Some bytes of a tar: those from `offset` on.
struct TarWindow {
  uint64_t offset = 0;
  std::span<const uint8_t> bytes;
};

/// Goes through a tar from header to header, over windows of it that somebody else reads. Reads ustar, GNU's long names and large
/// sizes, and pax headers (path, linkpath, size). Tars that stand end to end in one file are read as one. One thread.
///
/// Every size is checked against that of the tar before it is believed. Corrupt for what is damaged, Unsupported for sparse files and
/// those that go on in another tar; range() says where.
class TarWalker {
 public:
  /// `at`: where a header stands.
  TarWalker(uint64_t at, uint64_t tar_bytes) : at_(at), tar_bytes_(tar_bytes) {}

  enum class Step : uint8_t {
    kMember,
    kEnd,        ///< the blocks of zeros that end a tar, and no other tar behind them
    kNeedsMore,  ///< a window with needed() in it
  };
  Result<Step> next(TarWindow window, TarMember& member);
  ByteRange needed() const { return needed_; }
  /// Behind what was given last.
  uint64_t at() const { return at_; }
  /// After kEnd: bytes behind the end of the tar that are no zeros and no tar.
  uint64_t left_behind() const { return left_behind_; }

 private:
  std::optional<std::span<const uint8_t>> look(TarWindow window, ByteRange range);
  Status error(Code code, const std::string& message, uint64_t at) const;
  Status end_is_missing() const;
  /// Whether `block` begins something else than a tar, behind the end of one.
  bool begins_other_data(std::span<const uint8_t> block) const;
  /// Reads what stands before the header of a member; false where a window is needed.
  Result<bool> take_extension(TarWindow window, const TarHeaderBlock& header);
  Status take_pax(std::span<const uint8_t> records, bool global);
  Status take_pax_record(std::string_view key, std::string_view value, bool global);
  Status give(const TarHeaderBlock& header, TarMember& member);

  uint64_t at_;
  const uint64_t tar_bytes_;
  ByteRange needed_;
  bool ended_ = false;  // zeros came last
  uint64_t left_behind_ = 0;
  // Said by headers before that of the member.
  std::optional<uint64_t> begin_, size_;
  std::optional<std::string> name_, link_;
};

}  // namespace forebay
