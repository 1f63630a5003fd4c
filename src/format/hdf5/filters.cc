#include "format/hdf5/filters.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <libdeflate.h>

namespace forebay {

namespace {

// RFC 1951: a match of 258 bytes takes two bits at least. LZF makes 264 of three at most.
constexpr uint64_t kMostDeflateRatio = 1032, kMostLzfRatio = 264;
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

/// With the width known, as that of most shuffled data is, compilers make few wide instructions of both loops.
template <size_t kBytes>
void unshuffle_fixed(const uint8_t* in, size_t elements, uint8_t* out) {
  for (size_t i = 0; i < elements; ++i) {
    for (size_t byte = 0; byte < kBytes; ++byte) out[i * kBytes + byte] = in[byte * elements + i];
  }
}

/// Of blocks that fit into the first cache, so that writing with a stride costs no memory traffic.
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
  for (const Hdf5Filter& filter : filters) {
    switch (filter.id) {
      case Hdf5Filter::kDeflate:
      case Hdf5Filter::kShuffle:
      case Hdf5Filter::kFletcher32:
      case Hdf5Filter::kLzf: break;
      default: return unsupported(way_out(filter));
    }
  }
  return {};
}

uint64_t most_from_hdf5_filters(std::span<const Hdf5Filter> filters, uint64_t stored_bytes) {
  uint64_t most = stored_bytes;
  for (const Hdf5Filter& filter : filters) {
    const uint64_t ratio = filter.id == Hdf5Filter::kDeflate ? kMostDeflateRatio
                           : filter.id == Hdf5Filter::kLzf   ? kMostLzfRatio
                                                             : 1;
    most = most > UINT64_MAX / ratio ? UINT64_MAX : most * ratio;
  }
  return most;
}

std::span<uint8_t> Hdf5Filtering::room(int which, uint64_t bytes) {
  if (rooms_[which].size() < bytes) rooms_[which] = Buffer::allocate(bytes);
  return rooms_[which].mutable_span().first(bytes);
}

Result<std::span<const uint8_t>> Hdf5Filtering::undo(std::span<const Hdf5Filter> filters, uint32_t skipped,
                                                     std::span<const uint8_t> stored, uint64_t bytes,
                                                     WorkMemory& memory) {
  // Before any memory is taken for what a file only says.
  if (most_from_hdf5_filters(filters, stored.size()) < bytes) {
    return corrupt(fmt::format("a chunk of {} stored bytes cannot hold {}; the file is damaged", stored.size(), bytes));
  }
  // Two rooms, between which the bytes go to and fro from filter to filter.
  const uint64_t room_bytes = filters.empty() ? 0 : 2 * (bytes + filters.size() * kChecksumBytes);
  if (room_bytes > reserved_) {
    FOREBAY_RETURN_IF_ERROR(memory.reserve(room_bytes - reserved_));
    reserved_ = room_bytes;
  }
  // What is in front of a checksum is that much longer when it is read from behind.
  uint64_t checksums = 0;
  for (size_t i = 0; i < filters.size(); ++i)
    checksums += filters[i].id == Hdf5Filter::kFletcher32 && (i >= 32 || (skipped >> i & 1) == 0);
  std::span<const uint8_t> now = stored;
  int into = 0;
  // Last first; of more than 32 filters none can be marked as skipped.
  for (size_t i = filters.size(); i-- > 0;) {
    if (i < 32 && (skipped >> i & 1) != 0) continue;
    if (filters[i].id == Hdf5Filter::kFletcher32) --checksums;
    FOREBAY_ASSIGN(now, undo_one(filters[i], now, into, bytes + checksums * kChecksumBytes));
    // A filter that changes nothing gives a part of what it was given: the other room is free still, and this one is not.
    if (now.data() == rooms_[into].data()) into = 1 - into;
  }
  if (now.size() == bytes) return now;
  return corrupt(fmt::format("a chunk holds {} bytes in place of {}; the file is damaged", now.size(), bytes));
}

Result<std::span<const uint8_t>> Hdf5Filtering::undo_one(const Hdf5Filter& filter, std::span<const uint8_t> in,
                                                         int into, uint64_t bytes) {
  switch (filter.id) {
    case Hdf5Filter::kDeflate: {
      if (!inflater_) inflater_ = std::make_unique<Inflater>();
      const std::span<uint8_t> out = room(into, bytes);
      if (inflater_->of == nullptr) return out_of_budget("no memory to inflate a chunk", bytes);
      // Checks the sum at the end, too, and never writes beyond what it was given.
      if (libdeflate_zlib_decompress(inflater_->of, in.data(), in.size(), out.data(), out.size(), nullptr) ==
          LIBDEFLATE_SUCCESS)
        return std::span<const uint8_t>(out);
      return corrupt("a chunk cannot be inflated to its size; the file is damaged");
    }
    case Hdf5Filter::kLzf: {
      const std::span<uint8_t> out = room(into, bytes);
      if (hdf5_lzf_decompress(in, out)) return std::span<const uint8_t>(out);
      return corrupt("a chunk cannot be decompressed (lzf) to its size; the file is damaged");
    }
    case Hdf5Filter::kShuffle: {
      const uint64_t element = filter.values.empty() ? 1 : filter.values[0];
      if (element < 2) return in;
      const std::span<uint8_t> out = room(into, in.size());
      hdf5_unshuffle(in, element, out.data());
      return std::span<const uint8_t>(out);
    }
    case Hdf5Filter::kFletcher32: {
      if (in.size() < kChecksumBytes) return corrupt("a chunk is shorter than its checksum; the file is damaged");
      const std::span<const uint8_t> content = in.first(in.size() - kChecksumBytes);
      uint32_t stored = 0;
      for (size_t i = 0; i < kChecksumBytes; ++i) stored |= uint32_t{in[content.size() + i]} << (8 * i);
      const uint32_t sum = hdf5_fletcher32(content);
      // Old libraries wrote it with the bytes of each half exchanged.
      const uint32_t exchanged = (sum & 0x00ff00ff) << 8 | (sum >> 8 & 0x00ff00ff);
      if (stored == sum || stored == exchanged) return content;
      return corrupt("the checksum of a chunk (fletcher32) is wrong; the file is damaged");
    }
    default: return unsupported(way_out(filter));
  }
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
  // What is no whole element stays where it was.
  if (const size_t rest = in.size() - elements * bytes; rest > 0)
    std::memcpy(out + elements * bytes, in.data() + elements * bytes, rest);
}

// A byte below 32 announces so many and one more as they are; others a copy from what has been written, three bits of its length and 13 of how far
// back it lies.
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
    for (size_t i = 0; i < count; ++i, ++to) out[to] = out[to - back];  // what it copies may be what it just wrote
  }
  return to == out.size();
}

// Of big-endian words of two bytes; a byte at the end is the upper half of one.
uint32_t hdf5_fletcher32(std::span<const uint8_t> bytes) {
  uint32_t low = 0, high = 0;
  size_t words = bytes.size() / 2, at = 0;
  while (words > 0) {
    // As many as can be added up before a sum could overflow.
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
