#include "format/megatron/index.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/sniff.h"

namespace forebay {

namespace {

constexpr std::string_view kMegatronMagic("MMIDIDX\0\0", 9);
constexpr size_t kMegatronHeaderBytes = 9 + 8 + 1 + 8 + 8;
constexpr uint64_t kMegatronVersion = 1;

std::optional<DType> dtype_of_code(uint8_t code) {
  switch (code) {
    case 1: return DType::kUint8;
    case 2: return DType::kInt8;
    case 3: return DType::kInt16;
    case 4: return DType::kInt32;
    case 5: return DType::kInt64;
    case 6: return DType::kFloat64;
    case 7: return DType::kFloat32;
    case 8: return DType::kUint16;
    default: return std::nullopt;
  }
}

template <typename T>
T array_element(const uint8_t* array, uint64_t i) {
  T value;  // the arrays are not aligned
  std::memcpy(&value, array + i * sizeof value, sizeof value);
  return value;
}

/// The arrays of an index whose sizes fit the file. Their values are not checked yet.
struct MegatronArrays {
  DType dtype = DType::kUint16;
  uint64_t sequences = 0, indices = 0;
  const uint8_t *lengths = nullptr, *pointers = nullptr, *documents = nullptr, *modes = nullptr;

  int32_t length(uint64_t i) const { return array_element<int32_t>(lengths, i); }
  int64_t pointer(uint64_t i) const { return array_element<int64_t>(pointers, i); }
  int64_t document(uint64_t i) const { return array_element<int64_t>(documents, i); }
  uint64_t begin(uint64_t i) const { return static_cast<uint64_t>(pointer(i)); }
  uint64_t end(uint64_t i) const { return begin(i) + static_cast<uint64_t>(length(i)) * dtype_size(dtype); }
};

Status set_arrays(std::span<const uint8_t> index, MegatronArrays& arrays) {
  constexpr uint64_t kOfSequence = sizeof(int32_t) + sizeof(int64_t), kOfIndex = sizeof(int64_t);
  const uint64_t left = index.size() - kMegatronHeaderBytes;
  // Divides first, because the header may hold any numbers.
  const bool fits = arrays.sequences <= left / kOfSequence && arrays.indices <= left / kOfIndex;
  const uint64_t needed = fits ? arrays.sequences * kOfSequence + arrays.indices * kOfIndex : 0;
  if (!fits || (left != needed && left != needed + arrays.sequences)) {
    return corrupt(
        fmt::format("has {} bytes, which do not fit the {} sequences and {} document indices of its header; the file "
                    "is truncated or damaged",
                    index.size(), arrays.sequences, arrays.indices));
  }
  arrays.lengths = index.data() + kMegatronHeaderBytes;
  arrays.pointers = arrays.lengths + arrays.sequences * sizeof(int32_t);
  arrays.documents = arrays.pointers + arrays.sequences * sizeof(int64_t);
  if (left > needed) arrays.modes = arrays.documents + arrays.indices * sizeof(int64_t);
  return {};
}

Result<MegatronArrays> parse_header(std::span<const uint8_t> index) {
  const size_t compared = std::min(index.size(), kMegatronMagic.size());
  if (index.empty() || std::memcmp(index.data(), kMegatronMagic.data(), compared) != 0)
    return wrong_file("the .idx file of a Megatron data set", index, index.size());
  if (index.size() < kMegatronHeaderBytes)
    return corrupt(fmt::format("ends inside the header, after {} bytes", index.size()));
  ByteReader reader({reinterpret_cast<const char*>(index.data()) + kMegatronMagic.size(),
                     kMegatronHeaderBytes - kMegatronMagic.size()});
  const auto version = reader.take<uint64_t>();
  if (version != kMegatronVersion)
    return unsupported(fmt::format("is version {} of the format; known is {}", version, kMegatronVersion));
  const auto code = reader.take<uint8_t>();
  const std::optional<DType> dtype = dtype_of_code(code);
  if (!dtype) return unsupported(fmt::format("has the dtype code {}; known are 1 to 8", code));
  MegatronArrays arrays;
  arrays.dtype = *dtype;
  arrays.sequences = reader.take<uint64_t>();
  arrays.indices = reader.take<uint64_t>();
  FOREBAY_RETURN_IF_ERROR(set_arrays(index, arrays));
  return arrays;
}

Status check_sequences(const MegatronArrays& arrays, uint64_t bin_bytes) {
  const uint64_t item = dtype_size(arrays.dtype);
  for (uint64_t i = 0; i < arrays.sequences; ++i) {
    const int32_t length = arrays.length(i);
    const int64_t pointer = arrays.pointer(i);
    if (length < 0) return corrupt(fmt::format("says that sequence {} has {} tokens", i, length));
    const uint64_t bytes = static_cast<uint64_t>(length) * item;
    // A negative pointer, read as unsigned, is larger than any file.
    const auto begin = static_cast<uint64_t>(pointer);
    if (begin > bin_bytes || bytes > bin_bytes - begin) {
      return corrupt(fmt::format("says that sequence {} has {} bytes from byte {} on, and the .bin file has {} bytes",
                                 i, bytes, pointer, bin_bytes));
    }
  }
  return {};
}

Status check_documents(const MegatronArrays& arrays) {
  if (arrays.indices == 0) return corrupt("has no document indices; with by=\"sequence\" they are not needed");
  int64_t before = 0;
  for (uint64_t i = 0; i < arrays.indices; ++i) {
    const int64_t at = arrays.document(i);
    if (at < before || (i == 0 && at != 0))
      return corrupt(
          fmt::format("says that document {} begins at sequence {}, and the one before at {}", i, at, before));
    before = at;
  }
  if (static_cast<uint64_t>(before) == arrays.sequences) return {};
  return corrupt(
      fmt::format("ends its last document at sequence {}, and there are {} sequences; by=\"sequence\" reads "
                  "them all",
                  before, arrays.sequences));
}

MegatronIndex index_of_sequences(const MegatronArrays& arrays) {
  MegatronIndex index;
  index.dtype = arrays.dtype;
  index.begins.reserve(arrays.sequences);
  index.lengths.reserve(arrays.sequences);
  for (uint64_t i = 0; i < arrays.sequences; ++i) {
    index.begins.push_back(arrays.begin(i));
    index.lengths.push_back(static_cast<uint32_t>(arrays.length(i)));
  }
  if (arrays.modes != nullptr) {
    const auto* const modes = reinterpret_cast<const int8_t*>(arrays.modes);
    index.modes.assign(modes, modes + arrays.sequences);
  }
  return index;
}

/// Adds the sequences [first, last) as one sample.
Status add_document(const MegatronArrays& arrays, uint64_t document, uint64_t first, uint64_t last,
                    MegatronIndex& index) {
  uint64_t tokens = 0;
  for (uint64_t i = first; i < last; ++i) {
    tokens += static_cast<uint64_t>(arrays.length(i));
    if (i == first || arrays.begin(i) == arrays.end(i - 1)) continue;
    return unsupported(
        fmt::format("stores document {} in pieces: sequence {} begins at byte {}, and the one before it ends at byte "
                    "{}; read it with by=\"sequence\"",
                    document, i, arrays.begin(i), arrays.end(i - 1)));
  }
  if (tokens > std::numeric_limits<uint32_t>::max()) {
    return unsupported(
        fmt::format("has {} tokens in document {}, and 2^32 - 1 is the most; read it with "
                    "by=\"sequence\"",
                    tokens, document));
  }
  index.begins.push_back(first < last ? arrays.begin(first) : 0);
  index.lengths.push_back(static_cast<uint32_t>(tokens));
  return {};
}

Result<MegatronIndex> index_of_documents(const MegatronArrays& arrays) {
  FOREBAY_RETURN_IF_ERROR(check_documents(arrays));
  MegatronIndex index;
  index.dtype = arrays.dtype;
  const uint64_t documents = arrays.indices - 1;
  index.begins.reserve(documents);
  index.lengths.reserve(documents);
  for (uint64_t i = 0; i < documents; ++i) {
    const auto first = static_cast<uint64_t>(arrays.document(i)), last = static_cast<uint64_t>(arrays.document(i + 1));
    FOREBAY_RETURN_IF_ERROR(add_document(arrays, i, first, last, index));
  }
  return index;
}

}  // namespace

Result<MegatronIndex> parse_megatron_index(std::span<const uint8_t> index, uint64_t bin_bytes, MegatronUnit unit) {
  FOREBAY_ASSIGN(const MegatronArrays arrays, parse_header(index));
  FOREBAY_RETURN_IF_ERROR(check_sequences(arrays, bin_bytes));
  if (unit == MegatronUnit::kSequence) return index_of_sequences(arrays);
  return index_of_documents(arrays);
}

}  // namespace forebay
