#include "format/npy_file.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/sniff.h"
#include "format/files/mapped_file.h"

namespace forebay {

namespace {

constexpr std::string_view kNpyMagic("\x93NUMPY", 6);
constexpr size_t kMaxHeaderBytes = 1 << 20;

/// Parses the Python dictionary of the header: {'descr': '<f4', 'fortran_order': False, 'shape':
/// (3, 4), }.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : rest_(text) {}

  std::string descr;  ///< raw text if it is not a string
  bool fortran_order = false;
  std::vector<uint64_t> shape;

  bool parse() {
    bool seen[3] = {};
    if (!take('{')) return false;
    while (!take('}')) {
      std::string name;
      if (!string(&name) || !take(':')) return false;
      if (name == "descr" && !seen[0])
        seen[0] = string(&descr) || list(&descr);
      else if (name == "fortran_order" && !seen[1])
        seen[1] = boolean();
      else if (name == "shape" && !seen[2])
        seen[2] = tuple();
      else
        return false;
      // NumPy also writes a comma after the last entry.
      if (!take(',') && !peek('}')) return false;
    }
    skip_space();
    return rest_.empty() && seen[0] && seen[1] && seen[2];
  }

 private:
  void skip_space() {
    const size_t begin = rest_.find_first_not_of(std::string_view(" \n\t\r\0", 5));
    rest_.remove_prefix(begin == std::string_view::npos ? rest_.size() : begin);
  }
  bool peek(char c) {
    skip_space();
    return rest_.starts_with(c);
  }
  bool take(char c) {
    if (!peek(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view w) {
    skip_space();
    if (!rest_.starts_with(w)) return false;
    rest_.remove_prefix(w.size());
    return true;
  }
  bool string(std::string* out) {
    const char quote = peek('\'') ? '\'' : '"';
    if (!take(quote)) return false;
    const size_t end = rest_.find(quote);
    if (end == std::string_view::npos) return false;
    out->assign(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return true;
  }
  /// A structured type, which is detected but not interpreted.
  bool list(std::string* out) {
    if (!peek('[')) return false;
    const size_t end = rest_.rfind(']');
    if (end == std::string_view::npos) return false;
    out->assign(rest_.substr(0, end + 1));
    rest_.remove_prefix(end + 1);
    const size_t next = rest_.find(',');
    rest_.remove_prefix(next == std::string_view::npos ? 0 : next);
    return true;
  }
  bool boolean() {
    fortran_order = word("True");
    return fortran_order || word("False");
  }
  bool tuple() {
    if (!take('(')) return false;
    while (!take(')')) {
      uint64_t dim = 0;
      skip_space();
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), dim);
      // Limited before the number of axes is checked, because the header may hold a MiB of them.
      if (error != std::errc() || shape.size() > 64) return false;
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      take('L');  // Python 2
      shape.push_back(dim);
      if (!take(',') && !peek(')')) return false;
    }
    return true;
  }

  std::string_view rest_;
};

struct ElementType {
  DType dtype = DType::kUint8;
  std::optional<uint64_t> characters = std::nullopt;  ///< number of characters of a text type
};

/// Parses "<U12" or "|S5", a text with this number of characters.
Result<ElementType> text_type(char order, std::string_view type) {
  const bool bytes = type[0] != 'U';
  uint64_t characters = 0;
  const auto [end, error] = std::from_chars(type.data() + 1, type.data() + type.size(), characters);
  if (error != std::errc() || end != type.data() + type.size()) return corrupt("has text of no length");
  if (order == '>' && !bytes) {
    return unsupported("is big-endian; save it again with a.astype(a.dtype.newbyteorder('='))");
  }
  return ElementType{bytes ? DType::kUint8 : DType::kUint32, characters};
}

Result<ElementType> dtype_of(const std::string& descr) {
  static const std::map<std::string_view, DType> kKnown = {
      {"b1", DType::kBool},  {"u1", DType::kUint8},   {"i1", DType::kInt8},    {"u2", DType::kUint16},
      {"i2", DType::kInt16}, {"u4", DType::kUint32},  {"i4", DType::kInt32},   {"u8", DType::kUint64},
      {"i8", DType::kInt64}, {"f2", DType::kFloat16}, {"f4", DType::kFloat32}, {"f8", DType::kFloat64}};
  const char order = descr.empty() ? ' ' : descr[0];
  const std::string_view type = std::string_view(descr).substr(std::min<size_t>(descr.size(), 1));
  const std::string_view kind = type.substr(0, 1);
  if (order == '[') return unsupported("holds records (a structured dtype); save each field as an array of its own");
  if (kind == "O") {
    return unsupported("holds pickled Python objects, which are never loaded; save it with a numeric dtype");
  }
  if (const auto found = kKnown.find(type); found != kKnown.end()) {
    // One byte has no byte order, whatever the header says.
    const bool one_byte = dtype_size(found->second) == 1;
    if (order == '<' || order == '=' || order == '|' || one_byte) return ElementType{found->second};
    if (order == '>') {
      return unsupported("is big-endian; save it again with a.astype(a.dtype.newbyteorder('='))");
    }
  }
  if (kind == "U" || kind == "S" || kind == "a") return text_type(order, type);
  if (kind == "M" || kind == "m") return unsupported("holds dates or durations; save it with a.astype('int64')");
  if (kind == "V") {
    return unsupported(fmt::format(
        "holds bytes without a type ('{}'), which is how NumPy writes bfloat16 and other types of ml_dtypes; "
        "save it with a.astype('float32') and put .cast(\"bfloat16\") behind, or give the array itself: "
        "np.load(path).view(ml_dtypes.bfloat16)",
        type));
  }
  if (kind == "c") {
    return unsupported(
        "holds complex numbers; save real and imaginary part side by side: a.view('float32').reshape(*a.shape, 2), "
        "with 'float64' for complex128");
  }
  return unsupported(fmt::format("dtype '{}' is not handled; save it as a bool, integer or float array", descr));
}

Result<uint64_t> checked_bytes(const std::vector<uint64_t>& dims, DType dtype) {
  uint64_t bytes = dtype_size(dtype);
  // If one axis has length 0, the others may have any length and take no memory.
  const bool empty = std::ranges::find(dims, uint64_t{0}) != dims.end();
  for (const uint64_t dim : dims) {
    if (dim > INT64_MAX) return corrupt("the shape is larger than any memory");
    if (!empty && __builtin_mul_overflow(bytes, dim, &bytes)) return corrupt("the shape is larger than any memory");
  }
  if (bytes > INT64_MAX) return corrupt("the shape is larger than any memory");
  return empty ? 0 : bytes;
}

uint32_t little_endian(std::span<const uint8_t> bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

// The part of `head` that describes the array. The data follows it.
Result<std::span<const uint8_t>> header_text(std::span<const uint8_t> head, uint64_t file_bytes) {
  const size_t compared = std::min(head.size(), kNpyMagic.size());
  if (compared > 0 && std::memcmp(head.data(), kNpyMagic.data(), compared) != 0)
    return wrong_file("an .npy file", head, file_bytes);
  if (head.size() < 10) return corrupt("ends inside the header");
  const int major = head[6];
  // NEP 1: version 2 has four bytes for the header's length; version 3 is the same in UTF-8.
  if (major < 1 || major > 3) return unsupported(fmt::format("is .npy version {}; known are 1 to 3", major));
  const size_t length_bytes = major == 1 ? 2 : 4;
  if (head.size() < 8 + length_bytes) return corrupt("ends inside the header");
  const size_t text_bytes = little_endian(head.subspan(8, length_bytes));
  if (text_bytes > kMaxHeaderBytes)
    return corrupt(fmt::format("has a header of {} bytes; 1 MiB is allowed", text_bytes));
  if (8 + length_bytes + text_bytes > head.size()) return corrupt("ends inside the header");
  return head.subspan(8 + length_bytes, text_bytes);
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::span<const uint8_t> head, uint64_t file_bytes) {
  static_assert(std::endian::native == std::endian::little);
  FOREBAY_ASSIGN(const std::span<const uint8_t> text, header_text(head, file_bytes));
  HeaderText header{std::string_view(reinterpret_cast<const char*>(text.data()), text.size())};
  if (!header.parse()) return corrupt("the header is not the dictionary that NumPy writes");
  NpyHeader result;
  FOREBAY_ASSIGN(const ElementType element, dtype_of(header.descr));
  result.dtype = element.dtype;
  result.text = element.characters.has_value();
  if (result.text) {
    if (header.shape.size() > 1)
      return unsupported("holds several texts a sample; save each column as an array of its own");
    header.shape.push_back(*element.characters);
  }
  // One axis is stored alike in both orders.
  if (header.fortran_order && header.shape.size() > 1) {
    return unsupported("is stored in Fortran order; save it again with np.ascontiguousarray(a)");
  }
  if (header.shape.size() > Shape::kMaxRank) {
    return unsupported(fmt::format("has {} dimensions; {} are allowed", header.shape.size(), Shape::kMaxRank));
  }
  FOREBAY_ASSIGN(const uint64_t bytes, checked_bytes(header.shape, result.dtype));
  result.data_offset = static_cast<size_t>(text.data() - head.data()) + text.size();
  if (bytes > file_bytes - result.data_offset) {
    return corrupt(fmt::format("is shorter than its shape: {} bytes of data, {} are needed",
                               file_bytes - result.data_offset, bytes));
  }
  for (const uint64_t dim : header.shape) result.shape.push_back(static_cast<int64_t>(dim));
  return result;
}

Result<ArrayView> map_npy_file(const std::string& path) {
  FOREBAY_ASSIGN(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  // The header is copied, because parsing takes long and must not be aborted if the file is
  // truncated meanwhile.
  std::vector<uint8_t> head(std::min<uint64_t>(file->size(), kMaxHeaderBytes + 16));
  FOREBAY_RETURN_IF_ERROR(file->read([&] { std::memcpy(head.data(), file->data(), head.size()); }));
  auto header = parse_npy_header(head, file->size());
  if (!header.ok()) return header.status().with_key(path);
  ArrayView view{header->dtype, header->shape, file->data() + header->data_offset, nullptr, {}};
  view.text = header->text;
  view.file = std::move(file);
  return view;
}

}  // namespace forebay
