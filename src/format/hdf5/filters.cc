#include "format/hdf5/filters.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <libdeflate.h>

namespace forebay {

namespace {

// RFC 1951: a match of 258 bytes takes at least two bits. LZF makes 264 bytes of at most three.
constexpr uint64_t kMaxDeflateRatio = 1032, kMaxLzfRatio = 264;
constexpr uint64_t kChecksumBytes = 4;

std::string way_out(const Hdf5Filter& filter) {
  const std::string name = filter.name.empty() ? "" : fmt::format(" ('{}')", filter.name);
  const char* const known = filter.id == Hdf5Filter::kSzip          ? "szip"
                            : filter.id == Hdf5Filter::kNbit        ? "nbit"
                            : filter.id == Hdf5Filter::kScaleOffset ? "scaleoffset"
                                                                    : nullptr;
  return fmt::format(
      "its chunks are stored by {}{}, which is not read here; write the file again with `h5repack -f SHUF -f GZIP=4 IN "
      "OUT`"
      " (filters read here: deflate, shuffle, lzf, fletcher32)",
      known != nullptr ? std::string(known) : fmt::format("filter {}", filter.id), name);
}

/// With a constant width, as most shuffled data has, compilers vectorize both loops.
template <size_t kBytes>
void unshuffle_fixed(const uint8_t* in, size_t elements, uint8_t* out) {
  for (size_t i = 0; i < elements; ++i) {
    for (size_t byte = 0; byte < kBytes; ++byte) out[i * kBytes + byte] = in[byte * elements + i];
  }
}

/// Works on blocks that fit into the first-level cache, so that strided writes cause no memory
/// traffic.
void unshuffle_any(const uint8_t* in, size_t elements, size_t bytes, uint8_t* out) {
  const size_t block = std::max<size_t>(1, 16'384 / bytes);
  for (size_t begin = 0; begin < elements; begin += block) {
    const size_t end = std::min(elements, begin + block);
    for (size_t byte = 0; byte < bytes; ++byte) {
      for (size_t i = begin; i < end; ++i) out[i * bytes + byte] = in[byte * elements + i];
    }
  }
}

}  // namespace

struct Hdf5Filtering::Inflater {
  libdeflate_decompressor* const of = libdeflate_alloc_decompressor();
  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { libdeflate_free_decompressor(of); }
};

Hdf5Filtering::Hdf5Filtering() = default;
Hdf5Filtering::~Hdf5Filtering() = default;

Status check_hdf5_filters(std::span<const Hdf5Filter> filters) {
  int compressors = 0;
  for (const Hdf5Filter& filter : filters) {
    switch (filter.id) {
      case Hdf5Filter::kDeflate:
      case Hdf5Filter::kLzf: ++compressors; break;
      case Hdf5Filter::kShuffle:
      case Hdf5Filter::kFletcher32: break;
      default: return unsupported(way_out(filter));
    }
  }
  // The size between two compressors is stored nowhere, and undo_one() needs it.
  if (compressors > 1)
    return unsupported(
        "its chunks are compressed more than once, which is not read here; write the file again with `h5repack -f "
        "SHUF -f GZIP=4 IN OUT`");
  return {};
}

uint64_t max_from_hdf5_filters(std::span<const Hdf5Filter> filters, uint64_t stored_bytes) {
  uint64_t most = stored_bytes;
  for (const Hdf5Filter& filter : filters) {
    const uint64_t ratio = filter.id == Hdf5Filter::kDeflate ? kMaxDeflateRatio
                           : filter.id == Hdf5Filter::kLzf   ? kMaxLzfRatio
                                                             : 1;
    most = most > UINT64_MAX / ratio ? UINT64_MAX : most * ratio;
  }
  return most;
}

std::span<uint8_t> Hdf5Filtering::buffer(int which, uint64_t bytes) {
  if (buffers_[which].size() < bytes) buffers_[which] = Buffer::allocate(bytes);
  return buffers_[which].mutable_span().first(bytes);
}

Result<std::span<const uint8_t>> Hdf5Filtering::undo(std::span<const Hdf5Filter> filters, uint32_t filter_mask,
                                                     std::span<const uint8_t> stored, uint64_t bytes,
                                                     WorkMemory& memory) {
  // Checked before memory is allocated for a size that only the file states.
  if (max_from_hdf5_filters(filters, stored.size()) < bytes) {
    return corrupt(fmt::format("a chunk of {} stored bytes cannot hold {}; the file is damaged", stored.size(), bytes));
  }
  // Two buffers, between which the bytes alternate from filter to filter.
  // A shuffle that is undone before any decompressor has the stored bytes as its output.
  const uint64_t most_bytes = std::max<uint64_t>(bytes, stored.size());
  const uint64_t room_bytes = filters.empty() ? 0 : 2 * (most_bytes + filters.size() * kChecksumBytes);
  if (room_bytes > reserved_) {
    FOREBAY_RETURN_IF_ERROR(memory.reserve(room_bytes - reserved_));
    reserved_ = room_bytes;
  }
  // Until its filter is undone, each checksum adds to the size of the data.
  uint64_t checksums = 0;
  for (size_t i = 0; i < filters.size(); ++i)
    checksums += filters[i].id == Hdf5Filter::kFletcher32 && (i >= 32 || (filter_mask >> i & 1) == 0);
  std::span<const uint8_t> now = stored;
  int into = 0;
  // Filters are undone in reverse order. A filter beyond the 32nd cannot be marked as skipped.
  for (size_t i = filters.size(); i-- > 0;) {
    if (i < 32 && (filter_mask >> i & 1) != 0) continue;
    if (filters[i].id == Hdf5Filter::kFletcher32) --checksums;
    FOREBAY_ASSIGN(now, undo_one(filters[i], now, into, bytes + checksums * kChecksumBytes));
    // A filter that changes nothing returns a part of its input. The other buffer is then still
    // free, and this one is not.
    if (now.data() == buffers_[into].data()) into = 1 - into;
  }
  if (now.size() == bytes) return now;
  return corrupt(fmt::format("a chunk holds {} bytes in place of {}; the file is damaged", now.size(), bytes));
}

namespace {

Result<std::span<const uint8_t>> without_checksum(std::span<const uint8_t> in) {
  if (in.size() < kChecksumBytes) return corrupt("a chunk is shorter than its checksum; the file is damaged");
  const std::span<const uint8_t> content = in.first(in.size() - kChecksumBytes);
  uint32_t stored = 0;
  for (size_t i = 0; i < kChecksumBytes; ++i) stored |= uint32_t{in[content.size() + i]} << (8 * i);
  const uint32_t sum = hdf5_fletcher32(content);
  // Old libraries stored it with the bytes of each half exchanged.
  const uint32_t exchanged = (sum & 0x00ff00ff) << 8 | (sum >> 8 & 0x00ff00ff);
  if (stored == sum || stored == exchanged) return content;
  return corrupt("the checksum of a chunk (fletcher32) is wrong; the file is damaged");
}

}  // namespace

Result<std::span<const uint8_t>> Hdf5Filtering::undo_one(const Hdf5Filter& filter, std::span<const uint8_t> in,
                                                         int into, uint64_t bytes) {
  switch (filter.id) {
    case Hdf5Filter::kDeflate: return inflate(in, into, bytes);
    case Hdf5Filter::kLzf: {
      const std::span<uint8_t> out = buffer(into, bytes);
      if (hdf5_lzf_decompress(in, out)) return std::span<const uint8_t>(out);
      return corrupt("a chunk cannot be decompressed (lzf) to its size; the file is damaged");
    }
    case Hdf5Filter::kShuffle: {
      const uint64_t element = filter.values.empty() ? 1 : filter.values[0];
      if (element < 2) return in;
      const std::span<uint8_t> out = buffer(into, in.size());
      hdf5_unshuffle(in, element, out.data());
      return std::span<const uint8_t>(out);
    }
    case Hdf5Filter::kFletcher32: return without_checksum(in);
    default: return unsupported(way_out(filter));
  }
}

Result<std::span<const uint8_t>> Hdf5Filtering::inflate(std::span<const uint8_t> in, int into, uint64_t bytes) {
  if (!inflater_) inflater_ = std::make_unique<Inflater>();
  const std::span<uint8_t> out = buffer(into, bytes);
  if (inflater_->of == nullptr) return out_of_budget("no memory to inflate a chunk", bytes);
  // Also checks the checksum at the end, and never writes beyond `out`.
  if (libdeflate_zlib_decompress(inflater_->of, in.data(), in.size(), out.data(), out.size(), nullptr) ==
      LIBDEFLATE_SUCCESS)
    return std::span<const uint8_t>(out);
  return corrupt("a chunk cannot be inflated to its size; the file is damaged");
}

void hdf5_unshuffle(std::span<const uint8_t> in, uint64_t element_bytes, uint8_t* out) {
  const auto bytes = static_cast<size_t>(element_bytes);
  const size_t elements = bytes == 0 ? 0 : in.size() / bytes;
  switch (bytes) {
    case 2: unshuffle_fixed<2>(in.data(), elements, out); break;
    case 4: unshuffle_fixed<4>(in.data(), elements, out); break;
    case 8: unshuffle_fixed<8>(in.data(), elements, out); break;
    default: unshuffle_any(in.data(), elements, bytes, out); break;
  }
  // An incomplete last element is not shuffled.
  if (const size_t rest = in.size() - elements * bytes; rest > 0)
    std::memcpy(out + elements * bytes, in.data() + elements * bytes, rest);
}

// A control byte below 32 precedes that many literal bytes plus one. Other control bytes mean a
// copy of earlier output: three bits of its length and 13 bits of its distance.
bool hdf5_lzf_decompress(std::span<const uint8_t> in, std::span<uint8_t> out) {
  size_t from = 0, to = 0;
  while (from < in.size()) {
    const size_t control = in[from++];
    if (control < 32) {
      const size_t count = control + 1;
      if (count > in.size() - from || count > out.size() - to) return false;
      std::memcpy(out.data() + to, in.data() + from, count);
      from += count;
      to += count;
      continue;
    }
    size_t count = control >> 5;
    if (count == 7) {
      if (from == in.size()) return false;
      count += in[from++];
    }
    count += 2;
    if (from == in.size()) return false;
    const size_t back = ((control & 31) << 8 | in[from++]) + 1;
    if (back > to || count > out.size() - to) return false;
    // The copy may overlap its own output.
    for (size_t i = 0; i < count; ++i, ++to) out[to] = out[to - back];
  }
  return to == out.size();
}

// Sums big-endian words of two bytes. A single last byte is the upper half of a word.
uint32_t hdf5_fletcher32(std::span<const uint8_t> bytes) {
  uint32_t low = 0, high = 0;
  size_t words = bytes.size() / 2, at = 0;
  while (words > 0) {
    // The number of words that can be added before a sum could overflow.
    const size_t now = std::min<size_t>(words, 360);
    for (size_t i = 0; i < now; ++i, at += 2) {
      low += uint32_t{bytes[at]} << 8 | bytes[at + 1];
      high += low;
    }
    words -= now;
    low = (low & 0xffff) + (low >> 16);
    high = (high & 0xffff) + (high >> 16);
  }
  if (bytes.size() % 2 != 0) {
    low += uint32_t{bytes.back()} << 8;
    high += low;
    low = (low & 0xffff) + (low >> 16);
    high = (high & 0xffff) + (high >> 16);
  }
  low = (low & 0xffff) + (low >> 16);
  high = (high & 0xffff) + (high >> 16);
  return high << 16 | low;
}

}  // namespace forebay
