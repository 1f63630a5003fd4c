#include "format/hdf5/object_header.h"

#include <algorithm>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr size_t kMaxMessages = 200'000, kMaxBlocks = 10'000;
constexpr uint8_t kShared = 0x02;
constexpr uint64_t kOldPrefixBytes = 16;

struct HeaderBlock {
  uint64_t address = 0, length = 0;
};

/// Reads the blocks of one header. Each block may refer to more.
class HeaderReader {
 public:
  HeaderReader(Hdf5Metadata& file, bool resolves) : file_(file), resolves_(resolves) {}

  Result<Hdf5Header> run(uint64_t address) {
    FOREBAY_ASSIGN(const Buffer begin, file_.read(address, 4));
    FOREBAY_RETURN_IF_ERROR(std::equal(begin.data(), begin.data() + 4, "OHDR") ? begin_new(address)
                                                                               : begin_old(address));
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (i == kMaxBlocks) return hdf5_damaged("the header of an object leads in circles");
      FOREBAY_RETURN_IF_ERROR(is_new_ ? new_block(blocks_[i]) : old_block(blocks_[i]));
    }
    return std::move(header_);
  }

 private:
  Status begin_old(uint64_t address) {
    FOREBAY_ASSIGN(const Buffer prefix, file_.read(address, kOldPrefixBytes));
    Hdf5Cursor in = file_.cursor(prefix);
    if (in.u8() != 1) return hdf5_damaged("no header stands where a group or data set should begin");
    in.skip(7);
    blocks_.push_back({address + kOldPrefixBytes, in.u32()});
    return {};
  }

  Status begin_new(uint64_t address) {
    is_new_ = true;
    FOREBAY_ASSIGN(const Buffer flags_at, file_.read(address, 6));
    const uint8_t version = flags_at.data()[4], flags = flags_at.data()[5];
    if (version != 2) return unsupported(fmt::format("an object's header of version {}", version));
    // IV.A.1.b: flags tell whether times and attribute limits are stored here.
    const uint64_t prefix = 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
    const uint64_t size_bytes = uint64_t{1} << (flags & 3);
    FOREBAY_ASSIGN(const Buffer head, file_.read(address, prefix + size_bytes));
    Hdf5Cursor in = file_.cursor(head);
    in.skip(prefix);
    const uint64_t length = in.number(size_bytes), whole = prefix + size_bytes + length + 4;
    // The second condition detects that `whole` has overflowed.
    if (!file_.holds(address, whole) || length > whole) return hdf5_damaged("a header reaches beyond the file");
    FOREBAY_RETURN_IF_ERROR(file_.read_checked(address, whole, "a header").status());
    has_order_ = (flags & 0x04) != 0;
    blocks_.push_back({address + prefix + size_bytes, length});
    return {};
  }

  Status old_block(HeaderBlock block) {
    FOREBAY_ASSIGN(const Buffer bytes, file_.read(block.address, block.length));
    Hdf5Cursor in = file_.cursor(bytes);
    while (in.left() >= 8) {
      const uint16_t type = in.u16(), size = in.u16();
      const uint8_t flags = in.u8();
      in.skip(3);
      FOREBAY_RETURN_IF_ERROR(message(type, size, flags, in, bytes));
    }
    return {};
  }

  // Blocks after the first one, which was checked with its prefix.
  Status new_block(HeaderBlock block) {
    const size_t head = has_order_ ? 6 : 4;
    FOREBAY_ASSIGN(const Buffer bytes, file_.read(block.address, block.length));
    Hdf5Cursor in = file_.cursor(bytes);
    while (in.left() >= head) {
      const uint8_t type = in.u8();
      const uint16_t size = in.u16();
      const uint8_t flags = in.u8();
      if (has_order_) in.skip(2);
      FOREBAY_RETURN_IF_ERROR(message(type, size, flags, in, bytes));
    }
    return {};
  }

  /// Adds the message at the cursor, and moves the cursor behind it.
  Status message(uint16_t type, uint16_t size, uint8_t flags, Hdf5Cursor& in, const Buffer& block) {
    const size_t at = in.at();
    in.skip(size);
    if (in.failed()) return hdf5_damaged("a message is longer than the header it stands in");
    if (header_.messages.size() == kMaxMessages) return hdf5_damaged("a header has too many messages");
    Buffer bytes = block.slice(at, size);
    if (type == static_cast<uint16_t>(Hdf5MessageType::kContinuation)) return add_continuation(bytes);
    // A nil message, which is the space that a deleted one left (IV.A.2.a).
    if (type == 0) return {};
    if ((flags & kShared) != 0 && resolves_) {
      FOREBAY_ASSIGN(bytes, hdf5_shared_message(file_, static_cast<Hdf5MessageType>(type), bytes));
    }
    header_.messages.push_back({type, std::move(bytes)});
    return {};
  }

  /// Adds the block that a continuation message refers to.
  Status add_continuation(const Buffer& bytes) {
    Hdf5Cursor in = file_.cursor(bytes);
    const uint64_t address = in.number(file_.sizes().address), length = in.length();
    if (in.failed()) return hdf5_damaged("a header's continuation is cut off");
    if (!is_new_) {
      blocks_.push_back({address, length});
      return {};
    }
    if (length < 8) return hdf5_damaged("a header's continuation is too short");
    FOREBAY_ASSIGN(const Buffer block, file_.read_checked(address, length, "a header's continuation"));
    if (!std::equal(block.data(), block.data() + 4, "OCHK")) return hdf5_damaged("a header's continuation is missing");
    blocks_.push_back({address + 4, length - 8});
    return {};
  }

  Hdf5Metadata& file_;
  const bool resolves_;
  bool is_new_ = false, has_order_ = false;
  std::vector<HeaderBlock> blocks_;
  Hdf5Header header_;
};

}  // namespace

const Hdf5Message* Hdf5Header::find(Hdf5MessageType type) const {
  const auto found = std::ranges::find(messages, static_cast<uint16_t>(type), &Hdf5Message::type);
  return found == messages.end() ? nullptr : &*found;
}

Result<Hdf5Header> read_hdf5_header(Hdf5Metadata& file, uint64_t address) {
  return HeaderReader(file, true).run(address);
}

Result<Buffer> hdf5_shared_message(Hdf5Metadata& file, Hdf5MessageType type, const Buffer& bytes) {
  Hdf5Cursor in = file.cursor(bytes);
  const uint8_t version = in.u8(), kind = in.u8();
  if (version == 1) in.skip(6);
  if (version == 3 && kind == 1)
    return unsupported("messages are kept in a heap shared by objects; write the file again with `h5repack`");
  const uint64_t address = in.number(file.sizes().address);
  if (in.failed() || version > 3) return hdf5_damaged("a reference to a shared message is cut off");
  // A shared message does not refer to another one, so this recursion ends.
  FOREBAY_ASSIGN(const Hdf5Header header, HeaderReader(file, false).run(address));
  const Hdf5Message* const found = header.find(type);
  if (found == nullptr) return hdf5_damaged("a shared message is not where it should be");
  return found->bytes;
}

}  // namespace forebay
