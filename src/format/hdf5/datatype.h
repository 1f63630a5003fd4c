#pragma once

#include <string>
#include <vector>

#include "format/hdf5/cursor.h"

namespace forebay {

/// The type of a data set's elements. Sizes of members and dimensions have been checked against the
/// size of the whole.
struct Hdf5Type {
  enum class Kind : uint8_t {
    kInteger = 0,
    kFloat = 1,
    kTime = 2,
    kString = 3,
    kBits = 4,
    kOpaque = 5,
    kCompound = 6,
    kReference = 7,
    kEnum = 8,
    kVarying = 9,
    kArray = 10,
  };
  struct Member;

  Kind kind = Kind::kInteger;
  uint32_t bytes = 0;
  bool big_endian = false, is_signed = false;
  uint16_t bit_offset = 0, precision = 0;
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
  uint32_t offset = 0;
  Hdf5Type type;
};

Result<Hdf5Type> parse_hdf5_type(Hdf5Cursor& in);

}  // namespace forebay
