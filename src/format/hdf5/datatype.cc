#include "format/hdf5/datatype.h"

#include <bit>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr int kDeepestType = 16;
constexpr size_t kMostRank = 32;

/// Parses one type recursively.
class TypeReader {
 public:
  explicit TypeReader(Hdf5Cursor& in) : in_(in) {}

  Result<Hdf5Type> read(int depth) {
    const uint8_t head = in_.u8();
    const auto flags = static_cast<uint32_t>(in_.number(3));
    Hdf5Type type;
    type.bytes = in_.u32();
    const int version = head >> 4, kind = head & 15;
    if (in_.failed() || depth == kDeepestType) return hdf5_damaged("a type is cut off, or is made of itself");
    if (kind > static_cast<int>(Hdf5Type::Kind::kArray) || version > 5)
      return unsupported(
          fmt::format("a type of class {} and version {}, which is newer than this reader", kind, version));
    type.kind = static_cast<Hdf5Type::Kind>(kind);
    FOREBAY_RETURN_IF_ERROR(properties(type, version, flags, depth));
    if (in_.failed()) return hdf5_damaged("a type is cut off");
    if (type.bytes == 0) return hdf5_damaged("a type of no bytes");
    return type;
  }

 private:
  Status properties(Hdf5Type& type, int version, uint32_t flags, int depth) {
    switch (type.kind) {
      case Hdf5Type::Kind::kInteger:
      case Hdf5Type::Kind::kBits:
        type.big_endian = (flags & 1) != 0;
        type.is_signed = (flags & 8) != 0;
        type.bit_offset = in_.u16();
        type.precision = in_.u16();
        return {};
      case Hdf5Type::Kind::kFloat: return real(type, flags);
      case Hdf5Type::Kind::kTime: in_.skip(2); return {};
      case Hdf5Type::Kind::kString:
        type.padding = flags & 15;
        type.utf8 = (flags >> 4 & 15) == 1;
        return {};
      case Hdf5Type::Kind::kOpaque: in_.skip(flags & 0xff); return {};
      case Hdf5Type::Kind::kReference: return {};
      case Hdf5Type::Kind::kCompound: return compound(type, version, flags & 0xffff, depth);
      case Hdf5Type::Kind::kEnum: return enumeration(type, version, flags & 0xffff, depth);
      case Hdf5Type::Kind::kVarying:
        type.varying_string = (flags & 15) == 1;
        type.padding = flags >> 4 & 15;
        type.utf8 = (flags >> 8 & 15) == 1;
        return take_base(type, depth);
      case Hdf5Type::Kind::kArray: return array(type, version, depth);
    }
    return {};
  }

  Status real(Hdf5Type& type, uint32_t flags) {
    type.big_endian = (flags & 1) != 0;
    if ((flags & 0x40) != 0) return unsupported("floating-point numbers in the byte order of a VAX");
    type.bit_offset = in_.u16();
    type.precision = in_.u16();
    type.exponent_at = in_.u8();
    type.exponent_bits = in_.u8();
    type.mantissa_at = in_.u8();
    type.mantissa_bits = in_.u8();
    type.exponent_bias = in_.u32();
    return {};
  }

  Status take_base(Hdf5Type& type, int depth) {
    FOREBAY_ASSIGN(Hdf5Type base, read(depth + 1));
    type.base.push_back(std::move(base));
    return {};
  }

  std::string name(int version) {
    const size_t begin = in_.at();
    std::string text = in_.text();
    if (version < 3) in_.align8(begin);
    return text;
  }

  Status compound(Hdf5Type& type, int version, uint32_t count, int depth) {
    // IV.A.2.d: from version 3 on, as few bytes as the size of the compound needs.
    const size_t offset_bytes = version < 3 ? 4 : (static_cast<size_t>(std::bit_width(type.bytes)) + 7) / 8;
    for (uint32_t i = 0; i < count && !in_.failed(); ++i) {
      Hdf5Type::Member member;
      member.name = name(version);
      member.offset = static_cast<uint32_t>(in_.number(offset_bytes));
      std::vector<int64_t> dims;
      if (version == 1) dims = old_dims();
      FOREBAY_ASSIGN(member.type, read(depth + 1));
      if (!dims.empty()) FOREBAY_RETURN_IF_ERROR(make_array(member.type, std::move(dims)));
      if (member.offset > type.bytes || member.type.bytes > type.bytes - member.offset)
        return hdf5_damaged(fmt::format("the member '{}' reaches beyond its compound", member.name));
      type.members.push_back(std::move(member));
    }
    return {};
  }

  /// In version 1 the members themselves hold array dimensions.
  std::vector<int64_t> old_dims() {
    const uint8_t rank = in_.u8();
    // Reserved bytes around the permutation of axes. Then come always four sizes, however many are
    // valid.
    in_.skip(3 + 4 + 4);
    std::vector<int64_t> dims;
    for (int i = 0; i < 4; ++i) {
      const uint32_t dim = in_.u32();
      if (i < rank) dims.push_back(dim);
    }
    if (rank > 4) in_.fail();
    return dims;
  }

  static Status make_array(Hdf5Type& element, std::vector<int64_t> dims) {
    uint64_t bytes = element.bytes;
    for (const int64_t dim : dims) {
      bytes *= static_cast<uint64_t>(dim);
      // Cannot overflow, because both factors have 32 bits.
      if (bytes > UINT32_MAX) return hdf5_damaged("an array type is larger than its element may be");
    }
    Hdf5Type whole;
    whole.kind = Hdf5Type::Kind::kArray;
    whole.bytes = static_cast<uint32_t>(bytes);
    whole.dims = std::move(dims);
    whole.base.push_back(std::move(element));
    element = std::move(whole);
    return {};
  }

  Status enumeration(Hdf5Type& type, int version, uint32_t count, int depth) {
    FOREBAY_RETURN_IF_ERROR(take_base(type, depth));
    if (type.base[0].kind != Hdf5Type::Kind::kInteger || type.base[0].bytes != type.bytes)
      return hdf5_damaged("an enumeration of no integers");
    for (uint32_t i = 0; i < count && !in_.failed(); ++i) type.names.push_back(name(version));
    // All names come first, then all values end to end.
    const std::span<const uint8_t> values = in_.bytes(uint64_t{count} * type.bytes);
    type.values.assign(values.begin(), values.end());
    return {};
  }

  Status array(Hdf5Type& type, int version, int depth) {
    const uint8_t rank = in_.u8();
    if (version < 3) in_.skip(3);
    for (uint8_t i = 0; i < rank; ++i) type.dims.push_back(in_.u32());
    if (version < 3) in_.skip(4 * uint64_t{rank});
    if (rank > kMostRank) return hdf5_damaged("an array type of too many axes");
    FOREBAY_RETURN_IF_ERROR(take_base(type, depth));
    Hdf5Type whole = std::move(type.base[0]);
    FOREBAY_RETURN_IF_ERROR(make_array(whole, type.dims));
    if (whole.bytes != type.bytes) return hdf5_damaged("the size of an array type is not that of its elements");
    type = std::move(whole);
    return {};
  }

  Hdf5Cursor& in_;
};

}  // namespace

std::string Hdf5Type::to_string() const {
  switch (kind) {
    case Kind::kInteger: return fmt::format("{}int{}", is_signed ? "" : "u", bytes * 8);
    case Kind::kFloat: return fmt::format("float{}", bytes * 8);
    case Kind::kTime: return "time";
    case Kind::kString: return fmt::format("text of {} bytes", bytes);
    case Kind::kBits: return fmt::format("{} bits", precision);
    case Kind::kOpaque: return fmt::format("{} opaque bytes", bytes);
    case Kind::kCompound: return fmt::format("a compound of {} members", members.size());
    case Kind::kReference: return "a reference";
    case Kind::kEnum: return fmt::format("an enumeration of {}", base[0].to_string());
    case Kind::kVarying: return varying_string ? "text" : fmt::format("lists of {}", base[0].to_string());
    case Kind::kArray: return fmt::format("arrays of {}", base[0].to_string());
  }
  return "?";
}

Result<Hdf5Type> parse_hdf5_type(Hdf5Cursor& in) { return TypeReader(in).read(0); }

}  // namespace forebay
