#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/hdf5/cursor.h"

namespace forebay {

/// The type of a data set's elements. Sizes of members and dimensions have been checked against the
/// size of the whole.
struct Hdf5Type {
  /// The classes of the datatype message (IV.A.2.d of the specification), with their values.
  enum class Kind : uint8_t {
    kInteger = 0,
    kFloat = 1,
    kTime = 2,
    kString = 3,
    kBits = 4,  ///< bit field
    kOpaque = 5,
    kCompound = 6,
    kReference = 7,
    kEnum = 8,
    kVarying = 9,  ///< texts or lists of variable length
    kArray = 10,
  };
  struct Member;

  Kind kind = Kind::kInteger;
  uint32_t bytes = 0;  ///< of one element
  bool big_endian = false, is_signed = false;
  uint16_t bit_offset = 0, precision = 0;  ///< for kInteger and kFloat: lowest bit and number of bits
  /// For kFloat: lowest bit and number of bits of the exponent and of the mantissa.
  uint8_t exponent_at = 0, exponent_bits = 0, mantissa_at = 0, mantissa_bits = 0;
  uint32_t exponent_bias = 0;
  bool utf8 = false;  ///< for strings, also of variable length
  /// For strings: 0 ends at the first zero byte, 1 pads with zeros, 2 pads with spaces.
  uint8_t padding = 0;
  bool varying_string = false;          ///< for kVarying
  std::vector<int64_t> dims = {};       ///< for kArray
  std::vector<Member> members;          ///< for kCompound
  std::vector<std::string> names = {};  ///< for kEnum
  std::vector<uint8_t> values = {};     ///< for kEnum: values of the base type, end to end
  std::vector<Hdf5Type> base = {};      ///< for kEnum, kArray and kVarying: the one base type

  /// "int32", "a compound of 3 members", for messages.
  std::string to_string() const;
};

struct Hdf5Type::Member {
  std::string name;
  uint32_t offset = 0;  ///< in bytes, from the begin of the element
  Hdf5Type type;
};

/// Parses a datatype message. Corrupt if it is damaged or its sizes are inconsistent; Unsupported
/// for versions and byte orders that are not implemented here.
Result<Hdf5Type> parse_hdf5_type(Hdf5Cursor& in);

}  // namespace forebay
