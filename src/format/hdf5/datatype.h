#pragma once

#include <string>
#include <vector>

#include "format/hdf5/cursor.h"

namespace forebay {

/// The type of a data set's elements, as a file says it. Sizes of members and dimensions are checked against the size of the whole.
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
  bool utf8 = false;               ///< of strings, also of varying length
  uint8_t padding = 0;             ///< of strings: 0 to the first zero byte, 1 zeros at the end, 2 spaces at the end
  bool varying_string = false;     ///< of kVarying
  std::vector<int64_t> dims = {};  ///< of kArray
  std::vector<Member> members;     ///< of kCompound
  std::vector<std::string> names = {};  ///< of kEnum
  std::vector<uint8_t> values = {};     ///< of kEnum: of the base type, end to end
  std::vector<Hdf5Type> base = {};      ///< one, of kEnum, kArray and kVarying

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
