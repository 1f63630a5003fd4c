#include "format/webdataset/tar_walker.h"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace forebay {

namespace {

// The contents are paths. No tar program writes one of nearly this size.
constexpr uint64_t kMaxExtensionBytes = 1 << 20;

std::string_view as_text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TarMember::Kind kind_of(char type, std::string_view name) {
  switch (type) {
    // Old tars have no type for folders.
    case '\0': return name.ends_with('/') ? TarMember::Kind::kFolder : TarMember::Kind::kFile;
    case '0':
    // '7' is a contiguous file, which is read like any other.
    case '7': return TarMember::Kind::kFile;
    case '1': return TarMember::Kind::kHardLink;
    case '2': return TarMember::Kind::kSymbolicLink;
    case '5': return TarMember::Kind::kFolder;
    default: return TarMember::Kind::kOther;
  }
}
/// True for links, devices, folders and pipes, which have no data, whatever size they state.
bool has_no_data(char type) { return type >= '1' && type <= '6'; }
bool is_extension(char type) { return std::string_view("LKxXg").find(type) != std::string_view::npos; }

std::optional<uint64_t> decimal(std::string_view text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

}  // namespace

Status TarWalker::error(Code code, const std::string& message, uint64_t at) const {
  return Status(code, fmt::format("at byte {}: {}", at, message)).with_range({at, kTarBlockBytes});
}

Status TarWalker::missing_end_error() const {
  return error(Code::kCorrupt,
               tar_bytes_ == 0
                   ? "the file is empty"
                   : "the file ends without the blocks of zeros that end a tar: it was cut off, or is still being "
                     "written",
               std::min(at_, tar_bytes_));
}

std::optional<std::span<const uint8_t>> TarWalker::find_bytes(TarWindow window, ByteRange range) {
  const uint64_t end = window.offset + window.bytes.size();
  if (range.offset >= window.offset && range.offset <= end && range.length <= end - range.offset)
    return window.bytes.subspan(range.offset - window.offset, range.length);
  needed_ = range;
  return std::nullopt;
}

bool TarWalker::begins_other_data(std::span<const uint8_t> block) const {
  return ended_ && !has_tar_magic(block) && !parse_tar_header(block).ok();
}

Result<TarWalker::Step> TarWalker::next(TarWindow window, TarMember& member) {
  while (true) {
    // at_ may lie beyond the end: a truncated tar may lack the padding of its last file.
    if (at_ > tar_bytes_ || tar_bytes_ - at_ < kTarBlockBytes) {
      if (!ended_) return missing_end_error();
      trailing_bytes_ = tar_bytes_ - at_;
      return Step::kEnd;
    }
    const auto block = find_bytes(window, {at_, kTarBlockBytes});
    if (!block) return Step::kNeedsMore;
    if (is_zero_block(*block)) {
      // An extension header must have a member after it. Otherwise a name would be lost silently.
      if (begin_) return error(Code::kCorrupt, "the tar ends behind the header of a header", at_);
      // The following blocks may be padding, or another tar: `cat a.tar b.tar` leaves the end of
      // the first one in between.
      ended_ = true;
      at_ += kTarBlockBytes;
      continue;
    }
    if (begins_other_data(*block)) {
      trailing_bytes_ = tar_bytes_ - at_;
      return Step::kEnd;
    }
    ended_ = false;
    const Result<TarHeaderBlock> header = parse_tar_header(*block);
    if (!header.ok()) return error(header.status().code(), header.status().message(), at_);
    if (!is_extension(header->type)) {
      FOREBAY_RETURN_IF_ERROR(fill_member(*header, member));
      return Step::kMember;
    }
    FOREBAY_ASSIGN(const bool taken, apply_extension(window, *header));
    if (!taken) return Step::kNeedsMore;
  }
}

Result<bool> TarWalker::apply_extension(TarWindow window, const TarHeaderBlock& header) {
  const uint64_t data = at_ + kTarBlockBytes;
  // Checked before a window of that size is requested.
  if (header.size > kMaxExtensionBytes)
    return error(Code::kCorrupt, fmt::format("a header of {} bytes; no name is that long", header.size), at_);
  if (header.size > tar_bytes_ - data) return missing_end_error();
  const auto bytes = find_bytes(window, {data, header.size});
  if (!bytes) {
    needed_ = {at_, kTarBlockBytes + header.size};  // the block is parsed again then
    return false;
  }
  if (header.type == 'L' || header.type == 'K') {
    const std::string_view text = as_text(*bytes);
    (header.type == 'L' ? name_ : link_) = text.substr(0, text.find('\0'));
  } else {
    FOREBAY_RETURN_IF_ERROR(parse_pax(*bytes, header.type == 'g'));
  }
  if (!begin_) begin_ = at_;
  at_ = data + whole_tar_blocks(header.size);
  return true;
}

/// Parses records of the form "LENGTH KEY=VALUE\n", where the length includes itself.
Status TarWalker::parse_pax(std::span<const uint8_t> records, bool global) {
  std::string_view rest = as_text(records);
  while (!rest.empty() && rest.front() != '\0') {
    const size_t space = rest.find(' ');
    const std::optional<uint64_t> length = decimal(rest.substr(0, space));
    if (space == std::string_view::npos || !length || *length > rest.size() || *length < space + 3 ||
        rest[*length - 1] != '\n')
      return error(Code::kCorrupt, "this pax header is damaged", at_);
    const std::string_view record = rest.substr(space + 1, *length - space - 2);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) return error(Code::kCorrupt, "this pax header is damaged", at_);
    FOREBAY_RETURN_IF_ERROR(parse_pax_record(record.substr(0, equals), record.substr(equals + 1), global));
    rest.remove_prefix(*length);
  }
  return {};
}

Status TarWalker::parse_pax_record(std::string_view key, std::string_view value, bool global) {
  if (key.starts_with("GNU.sparse."))
    return error(Code::kUnsupported, "a sparse file; write the tar again without --sparse", at_);
  if (key != "path" && key != "linkpath" && key != "size") return {};
  // A global header would give all entries one name or size. No program writes that, and refusing
  // it is safer than a wrong interpretation.
  if (global) return error(Code::kUnsupported, fmt::format("a global pax header gives all entries one {}", key), at_);
  if (key != "size") {
    (key == "path" ? name_ : link_) = value;
    return {};
  }
  size_ = decimal(value);
  return size_ ? Status() : error(Code::kCorrupt, "the size in this pax header is no number", at_);
}

Status TarWalker::fill_member(const TarHeaderBlock& header, TarMember& member) {
  if (header.type == 'S') {
    return error(
        Code::kUnsupported,
        fmt::format("'{}' is a sparse file; write the tar again without --sparse", name_.value_or(header.name)), at_);
  }
  if (header.type == 'M') return error(Code::kUnsupported, "the rest of a file that begins in another tar", at_);
  member.begin = begin_.value_or(at_);
  member.data = at_ + kTarBlockBytes;
  member.size = has_no_data(header.type) ? 0 : size_.value_or(header.size);
  // pax and GNU values take precedence over the header's own fields, which are truncated.
  member.name = name_ ? std::move(*name_) : header.name;
  member.link = link_ ? std::move(*link_) : header.link;
  member.kind = kind_of(header.type, member.name);
  if (member.size > tar_bytes_ - member.data) {
    return error(Code::kCorrupt,
                 fmt::format("'{}' states {} bytes, and {} follow: the file was cut off, or its header is damaged",
                             member.name, member.size, tar_bytes_ - member.data),
                 at_);
  }
  at_ = member.data + whole_tar_blocks(member.size);
  begin_.reset();
  size_.reset();
  name_.reset();
  link_.reset();
  return {};
}

}  // namespace forebay
