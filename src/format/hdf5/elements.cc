#include "format/hdf5/elements.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace forebay {

namespace {

template <typename T>
void copy_groups(const uint8_t* in, uint64_t stride, uint64_t elements, uint64_t bytes, uint8_t* out, T copy) {
  for (uint64_t i = 0; i < elements; ++i, in += stride, out += bytes) copy(in, out);
}

template <typename Word>
void swap_words(const uint8_t* in, uint64_t count, uint8_t* out) {
  for (uint64_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, in + i * sizeof word, sizeof word);
    if constexpr (sizeof word == 2) word = __builtin_bswap16(word);
    if constexpr (sizeof word == 4) word = __builtin_bswap32(word);
    if constexpr (sizeof word == 8) word = __builtin_bswap64(word);
    std::memcpy(out + i * sizeof word, &word, sizeof word);
  }
}

void swap_numbers(const uint8_t* in, uint64_t count, uint8_t bytes, uint8_t* out) {
  switch (bytes) {
    case 2: return swap_words<uint16_t>(in, count, out);
    case 4: return swap_words<uint32_t>(in, count, out);
    case 8: return swap_words<uint64_t>(in, count, out);
    default: std::memcpy(out, in, count * bytes);
  }
}

std::optional<DType> integer_dtype(uint32_t bytes, bool is_signed) {
  switch (bytes) {
    case 1: return is_signed ? DType::kInt8 : DType::kUint8;
    case 2: return is_signed ? DType::kInt16 : DType::kUint16;
    case 4: return is_signed ? DType::kInt32 : DType::kUint32;
    case 8: return is_signed ? DType::kInt64 : DType::kUint64;
    default: return std::nullopt;
  }
}

struct FloatForm {
  uint32_t bytes;
  uint8_t exponent_bits, mantissa_bits;
  uint32_t bias;
  DType dtype;
};
constexpr FloatForm kFloatForms[] = {{2, 5, 10, 15, DType::kFloat16},
                                     {2, 8, 7, 127, DType::kBfloat16},
                                     {4, 8, 23, 127, DType::kFloat32},
                                     {8, 11, 52, 1023, DType::kFloat64}};

std::optional<DType> float_dtype(const Hdf5Type& type) {
  for (const FloatForm& form : kFloatForms) {
    if (type.bytes == form.bytes && type.exponent_bits == form.exponent_bits &&
        type.mantissa_bits == form.mantissa_bits && type.exponent_bias == form.bias && type.bit_offset == 0 &&
        type.mantissa_at == 0 && type.exponent_at == form.mantissa_bits)
      return form.dtype;
  }
  return std::nullopt;
}

/// True for h5py's bool, an enumeration of FALSE and TRUE.
bool is_truth(const Hdf5Type& type) {
  return type.bytes == 1 && type.names.size() == 2 && type.names[0] == "FALSE" && type.names[1] == "TRUE" &&
         type.values.size() == 2 && type.values[0] == 0 && type.values[1] == 1;
}

Status no_dtype(const Hdf5Type& type) {
  return unsupported(fmt::format(
      "holds {}, for which there is no type here; convert it with h5py (`data.astype(\"float64\")`) and write it again",
      type.to_string()));
}

}  // namespace

Result<Hdf5Numbers> Hdf5Numbers::of(const Hdf5Type& type) {
  // An enumeration becomes its numbers; the names are lost.
  const Hdf5Type& number = type.kind == Hdf5Type::Kind::kEnum ? type.base[0] : type;
  Hdf5Numbers made;
  std::optional<DType> dtype;
  if (number.kind == Hdf5Type::Kind::kFloat) {
    dtype = float_dtype(number);
  } else if (number.kind == Hdf5Type::Kind::kInteger || number.kind == Hdf5Type::Kind::kBits) {
    dtype = integer_dtype(number.bytes, number.is_signed);
    const uint32_t bits = number.bytes * 8;
    if (number.precision == 0 || number.precision > bits || number.bit_offset > bits - number.precision)
      return hdf5_damaged("an integer has more bits than bytes for them");
    // Some acquisition cards store 12 bits in 16.
    if (number.precision != bits) made.how_ = How::kBits;
  }
  if (!dtype) return no_dtype(type);
  made.dtype_ = *dtype;
  made.bytes_ = static_cast<uint8_t>(number.bytes);
  made.big_endian_ = number.big_endian;
  made.is_signed_ = number.is_signed;
  made.bit_offset_ = number.bit_offset;
  made.precision_ = number.precision;
  if (type.kind == Hdf5Type::Kind::kEnum && is_truth(type)) {
    made.truth_ = true;
    made.dtype_ = DType::kBool;
    made.how_ = How::kBits;  // a bool is 0 or 1, whatever the byte is
  } else if (made.how_ == How::kCopy && number.big_endian && number.bytes > 1) {
    made.how_ = How::kSwap;
  }
  return made;
}

uint64_t Hdf5Numbers::one(const uint8_t* in) const {
  uint64_t word = 0;
  for (uint8_t i = 0; i < bytes_; ++i) word |= uint64_t{in[big_endian_ ? bytes_ - 1 - i : i]} << (8 * i);
  if (truth_) return word != 0 ? 1 : 0;
  word >>= bit_offset_;
  if (precision_ >= 64) return word;
  const uint64_t mask = (uint64_t{1} << precision_) - 1;
  word &= mask;
  // The sign bit is the top of the precision, not of the bytes.
  return is_signed_ && (word >> (precision_ - 1)) != 0 ? word | ~mask : word;
}

void Hdf5Numbers::convert(const uint8_t* in, uint64_t stride, uint64_t elements, uint64_t each, uint8_t* out) const {
  const uint64_t bytes = each * bytes_;
  if (stride == bytes) {  // adjacent: one long group
    each *= elements;
    elements = elements > 0 ? 1 : 0;
  }
  const uint64_t group = each * bytes_;
  copy_groups(in, stride, elements, group, out, [&](const uint8_t* from, uint8_t* to) {
    switch (how_) {
      case How::kCopy: std::memcpy(to, from, group); break;
      case How::kSwap: swap_numbers(from, each, bytes_, to); break;
      case How::kBits:
        for (uint64_t i = 0; i < each; ++i) {
          const uint64_t word = one(from + i * bytes_);
          std::memcpy(to + i * bytes_, &word, bytes_);
        }
        break;
    }
  });
}

std::string_view hdf5_text(const Hdf5Type& type, const uint8_t* bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes), type.bytes);
  if (type.padding == 0) return text.substr(0, text.find('\0'));
  const size_t last = text.find_last_not_of(type.padding == 2 ? ' ' : '\0');
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace forebay
